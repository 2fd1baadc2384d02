package load

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/view"
	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
)

// profileFlags are the flags of corona profile.
type profileFlags struct {
	kind, diff, listen, token string
	seconds                   int
}

const profileLong = `Show profiles in google/pprof's web view, with a flame graph, until interrupted: of
all nodes and runs in the folder of a result (its scenario has "profiles: [cpu, heap,
mutex, goroutine]"), or of a running node, which is asked for --seconds of its work.

With --diff the second one is shown less the first: what takes more in DIR2 is
positive.
Samples of nodes bear the label "part": poll, judge, commit, deliver or solve.`

const profileExample = `  corona profile loadgen-smoke-20261124-101500
  corona profile runs/a --diff runs/b --kind heap
  corona profile http://127.0.0.1:8410 --seconds 30`

// NewProfile returns the command that shows profiles.
func NewProfile() *cobra.Command {
	var flags profileFlags
	command := &cobra.Command{
		Use:     "profile DIR|URL",
		Short:   "Show the profiles of a load test, or of a running node",
		Long:    profileLong,
		Example: profileExample,
		Args:    cli.WantArgs("DIR|URL"),
		RunE: func(command *cobra.Command, args []string) error {
			return flags.run(command.Context(), args[0], command.ErrOrStderr())
		},
	}
	command.Flags().StringVar(&flags.kind, "kind", profiles.CPU, "`kind` of profile: "+strings.Join(profiles.Kinds(), ", "))
	command.Flags().StringVar(&flags.diff, "diff", "", "a `folder` or URL to compare with")
	command.Flags().IntVar(&flags.seconds, "seconds", 10, "how long a running node is profiled")
	command.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:0", "loopback `address` of the view")
	cli.AddToken(command, &flags.token)
	return command
}

func (f *profileFlags) run(ctx context.Context, from string, log io.Writer) error {
	const most = 300
	switch {
	case !slices.Contains(profiles.Kinds(), f.kind):
		return fmt.Errorf("--kind %q: want one of %s", f.kind, strings.Join(profiles.Kinds(), ", "))
	case f.seconds < 1 || f.seconds > most:
		return fmt.Errorf("--seconds %d: want 1 to %d", f.seconds, most)
	}
	shown, err := f.read(ctx, from)
	if err != nil {
		return err
	}
	var base *profile.Profile
	if f.diff != "" {
		base = shown
		if shown, err = f.read(ctx, f.diff); err != nil {
			return err
		}
	}
	listener, err := view.Listen(ctx, f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	return view.Serve(ctx, listener, shown, base, log)
}

// read reads the profiles of a folder, or asks a node.
func (f *profileFlags) read(ctx context.Context, from string) (p *profile.Profile, err error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		content, err := profiles.Fetch(ctx, from, f.token, f.kind, f.seconds)
		if err != nil {
			return nil, cli.Exit(cli.ExitUnreachable, err)
		}
		p, err = profile.ParseData(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	} else if p, err = profiles.ReadFolder(from, f.kind); err != nil {
		return nil, err
	}
	if len(p.Sample) == 0 {
		return nil, fmt.Errorf("%s: the %s profile has no sample", from, f.kind)
	}
	return p, nil
}
