package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/load"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

func newLoadgenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "loadgen",
		Short: "Generate load: scenarios, and origins whose updates are known in advance",
		Long: `Generate load to try a node with, without asking anything of the Web: "run" carries a
scenario out and judges it, "scenarios" lists those that are built in, "compare" says
what differs between results beyond chance, "origin" serves channels whose updates are
all known in advance, and counts the requests.`,
		Example: "  corona loadgen run smoke\n  corona loadgen origin --channels 100 --speedup 60",
		Args:    cli.WantArgs("COMMAND…"),
		RunE: func(command *cobra.Command, args []string) error {
			return cli.FlagError(command, fmt.Errorf("unknown command %q", args[0]))
		},
	}
	command.AddCommand(load.NewRun(), load.NewScenarios(), load.NewCompare(), newOriginCommand())
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
	maxAge   time.Duration
	maxRate  float64
	rest     time.Duration
	json     bool
}

// defaultChannels is how many synthetic channels an origin has when neither
// channels nor traces are asked for.
const defaultChannels = 1000

const originLong = `Serve feeds and pages that change at times known from a seed, and replays of
recorded histories, until interrupted.

Synthetic channels are RSS 2.0 (65 %), Atom (20 %), JSON Feed (5 %) and HTML
(10 %) of realistic sizes. A tenth of them changes every 10 to 60 minutes, four
tenths every hour to five days, the rest once a week; --speedup makes time run
faster. What a channel shows depends on the seed, its number and its revision
alone, so another run with the same seed shows the same. Channels are spread
over --hosts addresses, which follow the listen address on the same port. These
are loopback addresses: the node that polls them needs --allow-private.

ETag, Last-Modified, 304 and gzip are served as origins should. Three more paths:
  /_channels   the URLs of all channels, one a line: what corona import takes
  /_truth      what has changed so far, NDJSON {"url","revision","changed_at"};
               revision 1 stood at the start and is not listed
  /_polls      how often each channel was asked for so far, NDJSON {"url","polls"}

Hosts can test a node's manners: --max-age says in Cache-Control how long documents
stay fresh; beyond --max-rate requests a second (a second's worth may come at once)
a host answers 429 Too Many Requests with Retry-After, also to requests that come
before that time. Both are counted at the end, as "refused" and "early" with
--json: a node with good manners makes 0 early ones.

A trace is a file of zstd-compressed JSON lines {"t":UNIX_SECONDS,"body":"…"}.
It is shown at its --path from the moment the origin starts, the first capture
first; each stands as long as it was recorded to, divided by --speedup, or for
--step whatever was recorded. The last stands for ever.`

const originExample = `  corona loadgen origin --channels 100000 --hosts 1000 --speedup 60
  corona loadgen origin --channels 500 --hosts 10 --max-rate 0.5 --retry-after 2m --max-age 15m
  corona loadgen origin --trace bbc.jsonl.zst --path /bbc --trace tos.jsonl.zst --path /tos --step 15s
  curl -s 127.0.0.1:9100/_channels > channels.txt && corona import channels.txt`

func newOriginCommand() *cobra.Command {
	var flags originFlags
	command := &cobra.Command{
		Use:     "origin",
		Short:   "Serve feeds and pages that change at times known from a seed",
		Long:    originLong,
		Example: originExample,
		Args:    cli.WantArgs(),
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := flags.config(command.Flags().Changed("channels"))
			if err != nil {
				return err
			}
			config.Logger = slog.New(slog.NewTextHandler(command.ErrOrStderr(), nil))
			return runOrigin(command.Context(), config, originPrinter{command.OutOrStdout(), flags.json})
		},
	}
	flags.bind(command)
	return command
}

func (f *originFlags) bind(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&f.listen, "listen", loadgen.DefaultListen, "`address` of the first host, within 127.0.0.0/8")
	set.IntVar(&f.channels, "channels", defaultChannels, "synthetic channels; with --trace none unless asked for")
	set.IntVar(&f.hosts, "hosts", 1, fmt.Sprintf("addresses to spread channels over, up to %d", loadgen.MaxHosts))
	set.Uint64Var(&f.seed, "seed", 1, "what content and update times follow from")
	set.Float64Var(&f.speedup, "speedup", 1, "how many times as fast time runs")
	set.StringArrayVar(&f.traces, "trace", nil, "recorded history to replay, a .jsonl.zst `file`; may be repeated, each with a --path")
	set.StringArrayVar(&f.paths, "path", nil, "where a trace is shown, such as /x: the first --path is the first trace's")
	set.DurationVar(&f.step, "step", 0, "how long each capture of a trace stands; 0: as recorded, divided by --speedup")
	set.DurationVar(&f.maxAge, "max-age", 0, "how long documents stay fresh, as Cache-Control tells; 0: nothing is told")
	set.Float64Var(&f.maxRate, "max-rate", 0, "requests a second that a host takes, more are answered 429; 0: any number")
	positiveDuration(set, &f.rest, "retry-after", time.Minute, "how long a host that answered 429 wants to be left alone")
	cli.AddJSON(command, &f.json)
}

// config pairs traces with paths: the first with the first, and so on.
func (f *originFlags) config(channelsAsked bool) (loadgen.Config, error) {
	if len(f.traces) != len(f.paths) {
		return loadgen.Config{}, fmt.Errorf("%d --trace but %d --path: they come in pairs", len(f.traces), len(f.paths))
	}
	if f.step > 0 && len(f.traces) == 0 {
		return loadgen.Config{}, fmt.Errorf("--step %s without a --trace to step through", f.step)
	}
	if err := f.checkZero(); err != nil {
		return loadgen.Config{}, err
	}
	config := loadgen.Config{
		Listen:     f.listen,
		Channels:   f.channels,
		Hosts:      f.hosts,
		Seed:       f.seed,
		Speedup:    f.speedup,
		Step:       f.step,
		MaxAge:     f.maxAge,
		MaxRate:    f.maxRate,
		RetryAfter: f.rest,
	}
	if len(f.traces) > 0 && !channelsAsked {
		config.Channels = 0
	}
	for i, file := range f.traces {
		config.Traces = append(config.Traces, loadgen.TraceConfig{File: file, Path: f.paths[i]})
	}
	return config, nil
}

// checkZero refuses an explicit 0, which an origin would take for its default.
func (f *originFlags) checkZero() error {
	switch {
	case f.listen == "":
		return errors.New("--listen: want an address")
	case f.hosts == 0:
		return errors.New("--hosts 0: want 1 at least")
	case f.speedup == 0:
		return errors.New("--speedup 0: want more than 0")
	}
	return nil
}

// runOrigin serves until the context ends, then says what was served.
func runOrigin(ctx context.Context, config loadgen.Config, printer originPrinter) error {
	origin, err := loadgen.NewOrigin(config)
	if err != nil {
		return err
	}
	listeners, err := origin.Listen(ctx)
	if err != nil {
		return refused(err)
	}
	err = printer.start(originStart{"http://" + listeners[0].Addr().String(), origin.Channels(), len(listeners), config.Seed})
	if err := errors.Join(err, origin.Serve(ctx, listeners...)); err != nil {
		return err
	}
	return printer.end(origin.Stats())
}

// originStart is what an origin says when it begins to serve.
type originStart struct {
	URL      string `json:"url"` // of the first host
	Channels int    `json:"channels"`
	Hosts    int    `json:"hosts"`
	Seed     uint64 `json:"seed"`
}

// originEnd is what an origin says when it has served.
type originEnd struct {
	Requests    uint64 `json:"requests"`
	Full        uint64 `json:"full"`
	NotModified uint64 `json:"not_modified"`
	BodyBytes   uint64 `json:"body_bytes"`
	Refused     uint64 `json:"refused"`
	Early       uint64 `json:"early"` // of the refused
	Lies        uint64 `json:"-"`     // these origins' clocks are right
}

// originPrinter prints for people or for programs.
type originPrinter struct {
	w    io.Writer
	json bool
}

func (p originPrinter) start(s originStart) error {
	if p.json {
		return cli.PrintJSONLine(p.w, s)
	}
	_, err := fmt.Fprintf(p.w, "origin: serving from %s (channels %d, hosts %d, seed %d); to a node that has --allow-private: curl -s %s/_channels > channels.txt && corona import channels.txt\n",
		s.URL, s.Channels, s.Hosts, s.Seed, s.URL)
	return err
}

func (p originPrinter) end(s loadgen.Stats) error {
	if p.json {
		return cli.PrintJSONLine(p.w, originEnd(s))
	}
	text := fmt.Sprintf("origin: served %d requests: %d documents (%d bytes), %d not modified",
		s.Requests, s.Full, s.BodyBytes, s.NotModified)
	if s.Refused > 0 {
		text += fmt.Sprintf(", %d refused, %d of which came before they were asked back", s.Refused, s.Early)
	}
	_, err := fmt.Fprintln(p.w, text)
	return err
}
