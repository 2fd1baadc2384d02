package solve

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

const long = `Solve for the polling rates that make changes known soonest within a budget, or
reach a target at the least cost, without a node.

The file is CSV with a header; columns are found by their names:
  channel             any text, each once
  subscribers         0: the channel is not polled
  size_bytes          of a poll
  update_interval_s   seconds between changes
  host                optional; empty: none, so no cap
  min_rate, max_rate  optional, polls per interval; empty or 0: no bound
Rows of the result, --out, are channel,rate,width in the same order: rate in
polls per interval, width the fewest nodes that keep the floor. On standard
output comes a summary, with a bound that no rates can beat.

Policies: lite   least mean wait of a change, weighted by subscribers
          fast   least load that keeps this wait within --target
          fair, fair-sqrt, fair-log   as lite, weighted as well by how often a
                 channel changes, by the root of that, by its logarithm
Ladders:  any    every whole number of polls per interval, and 1/2 … 1/48
          prefix:BASE   nodes/BASE^l, the wedges of a prefix overlay; each node
                 polls once an interval, whatever the floor
          geometric:FACTOR   powers of it, in whole polls

--budget auto is what all subscribers would cause if each polled by itself once
an interval. --pprof shows where the time went, in google/pprof's web view, until
interrupted; samples carry the label phase: read, prepare, solve or write.

Exit code 0: solved; 1: no rates keep all limits, and these are the nearest; 2: a
row or a flag is bad.`

const example = `  corona solve --in channels.csv --nodes 1024 --out rates.csv
  corona solve --in channels.csv --nodes 100 --policy fast --target 1m --json
  corona solve --in channels.csv --nodes 100 --cost bytes --repeat 5 --pprof 127.0.0.1:6060`

// solveFlags are the flags of corona solve.
type solveFlags struct {
	solveFiles
	problem  honeycomb.Config // its floor is decided by config
	repeat   int
	json     bool
	profiles profileFlags
}

type solveFiles struct {
	in  string // "-": standard input
	out string // "": none
}

// source names the input in messages.
func (f *solveFiles) source() string {
	if f.in == "-" {
		return "standard input"
	}
	return f.in
}

// defaultFloor is the floor unless the interval is shorter.
const defaultFloor = 30 * time.Minute

func (f *solveFlags) bind(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.in, "in", "", "CSV `file` of channels, - for standard input")
	set.StringVar(&f.out, "out", "", "write rates to a CSV `file`")
	set.Var(cli.NamedValue(&f.problem.Policy, honeycomb.ParsePolicy), "policy", "lite, fast, fair, fair-sqrt or fair-log")
	set.Var(cli.NamedValue(&f.problem.Ladder, honeycomb.ParseLadder), "ladder", "rates there are: any, prefix:BASE or geometric:FACTOR")
	set.Var(cli.NamedValue(&f.problem.Cost, honeycomb.ParseCost), "cost", "what the budget is of: polls or bytes")
	set.Var(cli.BudgetValue(&f.problem.Budget), "budget", "most load per interval: auto, or polls or bytes")
	set.IntVar(&f.problem.Nodes, "nodes", 1, "nodes that can poll, each from an address of its own")
	set.DurationVar(&f.problem.Interval, "interval", 30*time.Minute, "polling interval, 1s at least")
	set.DurationVar(&f.problem.Floor, "floor", 0, "shortest time between two polls of a channel by one node (default 30m, or the interval if that is shorter)")
	set.DurationVar(&f.problem.Target, "target", 0, "mean wait of a change to reach, for policy fast")
	set.Float64Var(&f.problem.HostCap, "host-cap", 0, "most polls of one host's channels per interval; 0: no cap")
	set.IntVar(&f.repeat, "repeat", 1, "times to do it all; times are medians")
	cli.AddJSON(cmd, &f.json)
	f.profiles.bind(set)
}

// config returns what the flags ask for.
func (f *solveFlags) config(set *pflag.FlagSet) (honeycomb.Config, error) {
	config := f.problem
	if !set.Changed("floor") {
		config.Floor = min(defaultFloor, config.Interval)
	}
	if err := f.check(config, set); err != nil {
		return config, err
	}
	return config, config.Validate()
}

// check refuses what [honeycomb.Config] cannot know to be a slip.
func (f *solveFlags) check(config honeycomb.Config, set *pflag.FlagSet) error {
	switch {
	case f.in == "":
		return errors.New("--in is missing: name a CSV file, or - for standard input")
	case f.out == "-":
		return errors.New("--out -: standard output is for what was found; name a file")
	case f.repeat < 1:
		return fmt.Errorf("--repeat %d: want 1 at least", f.repeat)
	case config.Floor <= 0 && config.Interval > 0:
		return fmt.Errorf("--floor %s: want more than 0", config.Floor)
	case config.Policy != honeycomb.Fast && set.Changed("target"):
		return fmt.Errorf("--target is for policy fast, not %s", config.Policy)
	}
	return nil
}

// checkFiles refuses to write over what is read.
func (f *solveFiles) checkFiles() error {
	if f.in == "-" || f.out == "" {
		return nil
	}
	in, err := os.Stat(f.in)
	if err != nil {
		return err
	}
	if out, err := os.Stat(f.out); err == nil && os.SameFile(in, out) {
		return fmt.Errorf("--out %s is the file that --in reads", f.out)
	}
	return nil
}
