// Package load holds the commands that run scenarios of the load generator and compare
// what they found.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/report"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/run"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// runFlags are the flags of corona loadgen run.
type runFlags struct {
	out  string
	set  []string
	json bool
}

const runLong = `Run a scenario: origins whose updates are known in advance, sinks, and, unless the
scenario names a target, nodes as child processes. What the nodes do is judged from
outside, by the generator's own clock and its own plan.

The folder --out gets result.json, raw.jsonl.zst (each change and delivery) and
report.html, which opens without a network. Exit codes: 0 all thresholds hold; 1 one is
broken, the run was interrupted, or the generator was the bottleneck; 2 the scenario is
wrong; 3 a node could not be reached or ended by itself.

Ctrl-C ends the run with a report of what there is. A load test of --target nodes
subscribes them to origins on this machine, which they poll with --allow-private.`

const runExample = `  corona loadgen run smoke
  corona loadgen run 100k --out /tmp/100k --set duration=5m
  corona loadgen scenarios --print smoke > mine.yaml && corona loadgen run mine.yaml`

// NewRun returns the command.
func NewRun() *cobra.Command {
	var flags runFlags
	command := &cobra.Command{
		Use:     "run SCENARIO.yaml|NAME",
		Short:   "Run a scenario and judge it",
		Long:    runLong,
		Example: runExample,
		Args:    cli.WantArgs("SCENARIO"),
		RunE: func(command *cobra.Command, args []string) error {
			return flags.run(command, args[0])
		},
	}
	command.Flags().StringVar(&flags.out, "out", "", "`folder` for the results, which holds nothing yet (default: loadgen-NAME-TIME)")
	command.Flags().StringArrayVar(&flags.set, "set", nil, "`key=value` in place of the scenario's, such as origins.hosts=10; may be repeated")
	cli.AddJSON(command, &flags.json)
	return command
}

func (f *runFlags) run(command *cobra.Command, name string) error {
	s, err := scenario.Read(name, f.set)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = fmt.Sprintf("loadgen-%s-%s", s.Name, time.Now().UTC().Format("20060102-150405"))
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	bar := newProgress(command.ErrOrStderr(), s)
	outcome, err := run.Run(command.Context(), run.Options{Scenario: s, Out: f.out, Binary: binary, Progress: bar.show})
	bar.close()
	if err != nil {
		return exit(command.Context(), err)
	}
	if err := report.Write(f.out, report.Run{Outcome: outcome, Scenario: string(s.Text), Command: f.command(name)}); err != nil {
		return err
	}
	return f.print(command.OutOrStdout(), outcome.Result)
}

// command returns what repeats the run.
func (f *runFlags) command(name string) string {
	text := "corona loadgen run " + name
	for _, pair := range f.set {
		text += " --set " + strconv.Quote(pair)
	}
	return text
}

// exit gives an error its code.
func exit(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.ErrInterrupted
	case errors.Is(err, run.ErrNode):
		return cli.Exit(cli.ExitUnreachable, err)
	}
	return err
}

func (f *runFlags) print(w io.Writer, r *result.Result) error {
	var err error
	if f.json {
		err = cli.PrintJSON(w, r)
	} else {
		err = printResult(w, r, f.out)
	}
	if err == nil && !r.OK() {
		return cli.Exit(cli.ExitNo, nil)
	}
	return err
}
