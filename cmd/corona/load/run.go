// Package load holds the commands that run scenarios of the load generator and compare
// what they found.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	out       string
	set       []string
	runs      int
	against   string // another program to start nodes from, by turns; "": none
	tolerated percent
	json      bool
}

const runLong = `Run a scenario: origins whose updates are known in advance, sinks, and, unless the
scenario names a target, nodes as child processes. What the nodes do is judged from
outside, by the generator's own clock and its own plan.

The folder --out gets result.json, raw.jsonl.zst (each change and delivery) and
report.html, which opens without a network. Exit codes: 0 all thresholds hold; 1 one is
broken, a probe failed, the run was interrupted, or the generator was the bottleneck; 2
the scenario is wrong; 3 a node could not be reached or ended by itself.

With --repeat or --against there are several runs, each in a folder of its own in
--out: a-1, a-2, …; with --against a is that program, b is this one, and they take
turns: a b b a. Then the two are compared (compare.json, and see "corona loadgen
compare"). Exit code 1: this build is worse beyond chance and by more than --fail-over,
one of its runs breaks a threshold, or the generator was the bottleneck of a run.

Ctrl-C ends the run with a report of what there is. A load test of --target nodes
subscribes them to origins on this machine, which they poll with --allow-private.`

const runExample = `  corona loadgen run smoke
  corona loadgen run 100k --out /tmp/100k --set duration=5m
  corona loadgen run smoke --repeat 6 --against ./corona-before --fail-over 5%
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
	command.Flags().IntVar(&flags.runs, "repeat", 1, "how often to run it")
	command.Flags().StringVar(&flags.against, "against", "", "another build of corona, a `file`: nodes are started from it and from this one by turns")
	command.Flags().Var(&flags.tolerated, "fail-over", "with --against: how much worse a figure may be, such as 5%")
	cli.AddJSON(command, &flags.json)
	return command
}

func (f *runFlags) run(command *cobra.Command, name string) error {
	s, err := scenario.Read(name, f.set)
	if err != nil {
		return err
	}
	if err := f.checkRepeat(s); err != nil {
		return err
	}
	if f.out == "" {
		f.out = fmt.Sprintf("loadgen-%s-%s", s.Name, time.Now().UTC().Format("20060102-150405"))
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if f.runs > 1 || f.against != "" {
		return f.repeat(command, name, s, binary)
	}
	outcome, err := f.once(command, name, s, binary, f.out)
	if err != nil {
		return err
	}
	return f.print(command.OutOrStdout(), outcome.Result)
}

// once runs the scenario with nodes from a program, into a folder.
func (f *runFlags) once(command *cobra.Command, name string, s *scenario.Scenario, binary, folder string) (*run.Outcome, error) {
	bar := newProgress(command.ErrOrStderr(), s.Name)
	if base := filepath.Base(folder); folder != f.out {
		bar.name += " " + base
	}
	outcome, err := run.Run(command.Context(), run.Options{Scenario: s, Out: folder, Binary: binary, Progress: bar.show})
	bar.close()
	if err != nil {
		return nil, exit(command.Context(), err)
	}
	return outcome, report.Write(folder, report.Run{Outcome: outcome, Scenario: string(s.Text), Command: f.command(name)})
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
