package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

func newLoadgenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "loadgen",
		Short: "Generate load: origins whose updates are known in advance",
		Args:  cobra.NoArgs,
	}
	command.AddCommand(newOriginCommand())
	return command
}

// originFlags are the flags of corona loadgen origin.
type originFlags struct {
	listen   string
	channels int
	hosts    int
	seed     uint64
	speedup  float64
	traces   []string
	paths    []string
	step     time.Duration
}

// defaultChannels is how many synthetic channels an origin has when neither
// channels nor traces are asked for.
const defaultChannels = 1000

func newOriginCommand() *cobra.Command {
	var flags originFlags
	command := &cobra.Command{
		Use:   "origin",
		Short: "Serve feeds and pages that change at times known from a seed",
		Long: `Serve feeds and pages that change at times known from a seed, and replays of
recorded histories, until interrupted.

Synthetic channels are RSS 2.0 (65 %), Atom (20 %), JSON Feed (5 %) and HTML
(10 %) of realistic sizes. A tenth of them changes every 10 to 60 minutes, four
tenths every hour to five days, the rest once a week; --speedup makes time run
faster. What a channel shows depends on the seed, its number and its revision
alone, so another run with the same seed shows the same. Channels are spread
over --hosts addresses, which follow the listen address on the same port. These
are loopback addresses: the node that polls them needs --allow-private.

ETag, Last-Modified, 304 and gzip are served as origins should. Two more paths:
  /_channels   the URLs of all channels, one a line: what corona import takes
  /_truth      what has changed so far, NDJSON {"url","revision","changed_at"};
               revision 1 stood at the start and is not listed

A trace is a file of zstd-compressed JSON lines {"t":UNIX_SECONDS,"body":"…"}.
It is shown at its --path from the moment the origin starts, the first capture
first; each stands as long as it was recorded to, divided by --speedup, or for
--step whatever was recorded. The last stands for ever.`,
		Example: `  corona loadgen origin --channels 100000 --hosts 1000 --speedup 60
  corona loadgen origin --trace bbc.jsonl.zst --path /bbc --trace tos.jsonl.zst --path /tos --step 15s
  curl -s 127.0.0.1:9100/_channels > channels.txt && corona import channels.txt`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := flags.config(command.Flags().Changed("channels"))
			if err != nil {
				return err
			}
			config.Logger = slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return runOrigin(command.Context(), config, command.OutOrStdout())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.listen, "listen", loadgen.DefaultListen, "address of the first host, within 127.0.0.0/8")
	set.IntVar(&flags.channels, "channels", defaultChannels, "synthetic channels; with --trace none unless asked for")
	set.IntVar(&flags.hosts, "hosts", 1, fmt.Sprintf("addresses to spread channels over, up to %d", loadgen.MaxHosts))
	set.Uint64Var(&flags.seed, "seed", 1, "what content and update times follow from")
	set.Float64Var(&flags.speedup, "speedup", 1, "how many times as fast time runs")
	set.StringArrayVar(&flags.traces, "trace", nil, "recorded history to replay, a .jsonl.zst file; may be repeated, each with a --path")
	set.StringArrayVar(&flags.paths, "path", nil, "where the trace before or after it is shown, such as /x")
	set.DurationVar(&flags.step, "step", 0, "how long each capture of a trace stands; 0: as recorded, divided by --speedup")
	return command
}

// config pairs traces with paths: the first with the first, and so on.
func (f *originFlags) config(channelsAsked bool) (loadgen.Config, error) {
	if len(f.traces) != len(f.paths) {
		return loadgen.Config{}, fmt.Errorf("%d --trace but %d --path: they come in pairs", len(f.traces), len(f.paths))
	}
	if f.step > 0 && len(f.traces) == 0 {
		return loadgen.Config{}, fmt.Errorf("--step %s without a --trace to step through", f.step)
	}
	config := loadgen.Config{
		Listen:   f.listen,
		Channels: f.channels,
		Hosts:    f.hosts,
		Seed:     f.seed,
		Speedup:  f.speedup,
		Step:     f.step,
	}
	if len(f.traces) > 0 && !channelsAsked {
		config.Channels = 0
	}
	for i, file := range f.traces {
		config.Traces = append(config.Traces, loadgen.TraceConfig{File: file, Path: f.paths[i]})
	}
	return config, nil
}

// runOrigin serves until the context ends, then says what was served.
func runOrigin(ctx context.Context, config loadgen.Config, out io.Writer) error {
	origin, err := loadgen.NewOrigin(config)
	if err != nil {
		return err
	}
	listeners, err := origin.Listen(ctx)
	if err != nil {
		return err
	}
	first := "http://" + listeners[0].Addr().String()
	fmt.Fprintf(out, "%d channels on %d hosts from %s (seed %d): try curl %s, or curl -s %s/_channels > channels.txt && corona import channels.txt\n",
		origin.Channels(), len(listeners), first, config.Seed, origin.URL(0), first)
	if err := origin.Serve(ctx, listeners...); err != nil {
		return err
	}
	stats := origin.Stats()
	fmt.Fprintf(out, "served %d requests: %d documents (%d bytes), %d not modified\n",
		stats.Requests, stats.Full, stats.BodyBytes, stats.NotModified)
	return nil
}
