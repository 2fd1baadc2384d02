// Package sim is corona sim: the flags, the progress bar and the printed tables of the
// experiments in benchmarks/sim.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim"
	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const long = `Repeat the paper's evaluation in virtual time, and see this project's way beside it.

  table2      eleven rows: readers alone, the paper's five policies as the paper
              does it (levels of a prefix overlay, random phases, every node
              decides), and the same five as this project does it (any whole
              rate, pollers that take turns, an owner per range)
  figures     the paper's Figures 3 to 8, ours in them
  deployment  its deployment on 60 nodes, Figures 9 and 10
  heuristics  rules of thumb beside the optimum: at the paper's levels and at any
              rate, with equal and with real sizes, with and without caps of hosts
  beyond      what the paper does not try: nodes that die and join, a flash crowd,
              update intervals that must be learned, clocks that are off; and what
              each of 100 nodes holds and sends for 50,000,000 channels

Detection is measured on simulated updates against actual polls. ` + simSeed

const simSeed = `Everything
follows from --seed: the same seed prints the same, byte for byte. --report
writes one HTML page that opens without a network, and beside it the same
numbers as .csv and .json.`

const example = `  corona sim table2 --report table2.html
  corona sim table2 --channels 2000 --nodes 64 --subscriptions 100000 --json`

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sim",
		Short:   "Simulate: the paper's evaluation, and ours beside it",
		Long:    long,
		Example: example,
		Args:    cli.WantArgs("EXPERIMENT…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.FlagError(cmd, fmt.Errorf("unknown experiment %q", args[0]))
		},
	}
	for _, e := range simExperiments {
		cmd.AddCommand(e.command())
	}
	return cmd
}

// beyond is the experiment that also reckons with costs.
const beyond = "beyond"

// simResult is what an experiment found: JSON as it is, and a report for people.
type simResult interface{ Report() report.Report }

// simExperiment is one experiment.
type simExperiment struct {
	name, short, long string
	defaults          func() sim.Options
	run               func(context.Context, sim.Options) (simResult, error)
}

var simExperiments = []simExperiment{
	{"table2", "The paper's Table 2: eleven rows", `Readers alone; the paper's five policies as the paper does it (levels of a prefix
overlay, random phases, every node decides); and the same five as this project does
it (any whole rate, pollers that take turns, an owner per range).`, sim.PaperOptions,
		func(ctx context.Context, o sim.Options) (simResult, error) { return sim.RunTable2(ctx, o) }},
	{"figures", "The paper's Figures 3 to 8", `The paper's Figures 3 to 8 with this project's way in them, and what it takes to
spread an update among the pollers of a channel.`, sim.PaperOptions,
		func(ctx context.Context, o sim.Options) (simResult, error) { return sim.RunFigures(ctx, o) }},
	{"deployment", "The paper's deployment on 60 nodes: Figures 9 and 10", `The paper's deployment on 60 nodes: how detection and load come down as channels are
subscribed to, Figures 9 and 10.`, sim.DeploymentOptions,
		func(ctx context.Context, o sim.Options) (simResult, error) { return sim.RunDeployment(ctx, o) }},
	{"heuristics", "Rules of thumb beside the optimum", `Rules of thumb beside the optimum: at the paper's levels and at any rate, with equal
and with real sizes, with and without caps of hosts.`, sim.PaperOptions,
		func(ctx context.Context, o sim.Options) (simResult, error) { return sim.RunHeuristics(ctx, o) }},
	{beyond, "What the paper does not try: churn, flash crowds, wrong estimates, clock skew, size", beyondLong, sim.BeyondOptions,
		func(ctx context.Context, o sim.Options) (simResult, error) { return sim.RunBeyond(ctx, o) }},
}

const beyondLong = `What the paper does not try: nodes that die and join, a flash crowd, update intervals
that must be learned, clocks that are off. And what each node holds, sends and computes
in a cluster past the machines that there are: of a quarter, a half and all of --nodes
and --channels, side by side. What goes with a node's share stays level, and what goes
with the number of nodes is named. One node's own channels are all there, planned for
and ordered by the nodes' own code; the rest is costs times counts. The costs were
measured on live nodes, and the output says by which command. With more than 2,000,000
channels only this is done, for which a minute or two are needed.

Your own costs, in the form of benchmarks/sim/costs.json, are written by
  go run ./benchmarks/costs OUT FILE                  OUT: loadgen run steady --out
  go run ./benchmarks/cooperate -costs FILE           two, by -subscriptions
  go run ./benchmarks/failover -calm 60s -costs FILE  three, by -nodes, -ranges
A cost that is missing or not above 0 is refused.`

func (e simExperiment) command() *cobra.Command {
	flags := simFlags{options: e.defaults()}
	cmd := &cobra.Command{
		Use:   e.name,
		Short: e.short,
		Long:  e.long + "\n\nTimes are seconds, the load is polls per interval and channel. " + simSeed,
		Example: fmt.Sprintf("  corona sim %[1]s --report %[1]s.html\n"+
			"  corona sim %[1]s --channels 2000 --nodes 64 --subscriptions 100000 --json    # a small one", e.name) + e.example(),
		Args: cli.WantArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd, e) },
	}
	flags.bind(cmd)
	switch e.name {
	case beyond:
		flags.bindCosts(cmd)
	case "table2", "deployment":
		flags.bindTimes(cmd)
	}
	return cmd
}

// simFlags are the flags of all experiments.
type simFlags struct {
	options sim.Options
	report  string
	json    bool
	costs   string // file; "": those of this version
}

func (f *simFlags) bind(cmd *cobra.Command) {
	set := cmd.Flags()
	set.IntVar(&f.options.Channels, "channels", f.options.Channels, "channels, their popularity by Zipf with exponent 0.5")
	set.IntVar(&f.options.Nodes, "nodes", f.options.Nodes, "nodes that poll, each from an address of its own")
	set.IntVar(&f.options.Subscriptions, "subscriptions", f.options.Subscriptions, "subscriptions of all channels together")
	set.Float64Var(&f.options.Hours, "hours", f.options.Hours, "virtual time")
	set.Uint64Var(&f.options.Seed, "seed", f.options.Seed, "what everything follows from")
	set.StringVar(&f.report, "report", "", "write a page to an HTML `file`, and its numbers beside it as .csv and .json")
	cli.AddJSON(cmd, &f.json)
}

// bindTimes adds what table2 and deployment have, for other systems than the paper's.
func (f *simFlags) bindTimes(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.options
	set.DurationVar(&o.Interval, "interval", o.Interval, "polling interval")
	set.DurationVar(&o.Floor, "floor", o.Floor, "shortest time between two polls of a channel by one of our nodes (default: the interval)")
	set.DurationVar(&o.Maintenance, "maintenance", o.Maintenance, "time between two decisions of a node or a range")
	set.DurationVar(&o.Target, "target", o.Target, "mean wait that policy fast is to reach")
}

// bindCosts adds what only beyond has.
func (f *simFlags) bindCosts(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.costs, "costs", "", "a JSON `file` of costs measured live (default: those of this version)")
}

// example is one more, where an experiment has it.
func (e simExperiment) example() string {
	if e.name != beyond {
		return ""
	}
	return "\n  corona sim beyond --nodes 100 --channels 50000000    # fifty subscriptions a channel, if you do not say"
}

// prepareBeyond reads the costs, and has subscriptions go with the channels where they were not given.
func (f *simFlags) prepareBeyond(cmd *cobra.Command) (err error) {
	if !cmd.Flags().Changed("subscriptions") {
		f.options.Subscriptions = sim.SubscriptionsFor(f.options.Channels)
	}
	if f.costs == "" {
		f.options.Costs, err = sim.MeasuredCosts()
		return err
	}
	f.options.Costs, err = sim.ReadCosts(f.costs)
	return err
}

// run simulates, with a bar on a terminal, and says what was found.
func (f *simFlags) run(cmd *cobra.Command, e simExperiment) error {
	if err := f.checkReport(); err != nil {
		return err
	}
	if e.name == beyond {
		if err := f.prepareBeyond(cmd); err != nil {
			return err
		}
	}
	bar := newSimBar(cmd.ErrOrStderr(), e.name)
	f.options.Progress = bar.at
	result, err := e.run(cmd.Context(), f.options)
	bar.close()
	if errors.Is(err, context.Canceled) {
		return cli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	page := result.Report()
	if err := f.write(result, page); err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	return printSim(cmd.OutOrStdout(), page)
}

// printSim prints a report's tables.
func printSim(w io.Writer, page report.Report) error {
	fmt.Fprintln(w, page.Title)
	for _, section := range page.Sections {
		fmt.Fprintf(w, "\n%s\n", section.Heading)
		if len(section.Table.Rows) > 0 {
			t := cli.NewTable(w, section.Table.Header...)
			for _, row := range section.Table.Rows {
				cells := make([]any, len(row))
				for i, cell := range row {
					cells[i] = cell
				}
				if err := t.Add(cells...); err != nil {
					return err
				}
			}
			if err := t.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}
