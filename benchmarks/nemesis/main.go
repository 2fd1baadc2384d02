//go:build linux

// Command nemesis runs three nodes in network namespaces of their own, and lets faults
// happen to them, drawn from a seed: kills, suspensions, cuts in one direction or both,
// the isolation of a node, disks that fail or are slow, a stop in order, the kill of
// all. Meanwhile clients subscribe, look, list and unsubscribe at any node, streams and
// webhooks receive, endpoints that many subscriptions share fail for a time, and an origin
// keeps changing; then it checks that nothing that was acknowledged is lost, nothing that
// was deleted is back, no ID was given twice, no update is missing, histories are
// linearizable, nothing stays stuck, endpoints that failed were spared, and no origin was
// asked too soon. It uses the contract alone.
//
// It ends with 0 when every rule holds; with 1 when one does not, says which, and leaves
// data, logs and history; with 2 when it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
)

const usage = `Runs a cluster of three nodes beside faults and checks what clients were promised.

  go run ./benchmarks/nemesis                              # one seed, 16 faults, two minutes
  go run ./benchmarks/nemesis -seed 7 -keep                # another one; data and logs stay
  go run ./benchmarks/nemesis -seeds 3                     # what "make nemesis" runs
  go run ./benchmarks/nemesis -seed 1 -seeds 30            # thirty of them, by hand
  go run ./benchmarks/nemesis -kinds pause,isolate -faults 40 -time 5m

A seed decides which faults come in which order, to which nodes and for how long, and what
clients ask for; when what happens is up to the machine, so a seed does not repeat a run
exactly. Each seed begins with empty directories. It needs Linux, root (for network
namespaces) and iproute2, for the faults of disks strace. Nothing is left behind, but what a
failed run found: its folder holds data directories, logs, strace's log, and a page for each
history that is not linearizable.

Kinds of faults (-kinds), and how many of each are among %d:
%s
Rules (-rules prints them all):
  acknowledged means kept, deleted means gone, whatever node is asked; an ID is given once;
  every update reaches every stream and webhook; an endpoint that fails is tried as by one
  node, and what it missed comes, or, after 410, one gap for each subscription; per channel the histories of subscribe,
  unsubscribe and list are linearizable, with unknown outcomes that may happen any time later;
  what is not decided within a limit is told, and must be less than one in a hundred channels;
  30 s after the last fault every node takes writes for every range; no two polls of a
  channel by one node come under the floor, as the kernel receives them.

Flags:
`

// options are what the command line says.
type options struct {
	seed    uint64
	seeds   int
	faults  int
	time    time.Duration
	kinds   []string
	program string
	keep    bool
}

func main() {
	o := options{kinds: kindNames()}
	var kinds string
	rules := flag.Bool("rules", false, "print the rules that are checked, and end")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.IntVar(&o.seeds, "seeds", 1, "how many seeds, one after the other")
	flag.IntVar(&o.faults, "faults", len(deckOf(o.kinds)), "how many faults for each seed")
	flag.DurationVar(&o.time, "time", 3*time.Minute, "no further fault begins so long after the start of a seed")
	flag.StringVar(&kinds, "kinds", strings.Join(o.kinds, ","), "faults to draw, with commas")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.BoolVar(&o.keep, "keep", false, "keep data and logs when every rule holds, too")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), usage, len(deckOf(kindNames())), describeKinds())
		flag.PrintDefaults()
	}
	flag.Parse()
	if *rules {
		printRules(os.Stdout)
		return
	}
	o.kinds = strings.Split(kinds, ",")
	if unknown := slices.IndexFunc(o.kinds, func(k string) bool { return !slices.Contains(kindNames(), k) }); unknown >= 0 {
		fmt.Fprintf(os.Stderr, "nemesis: -kinds %q: want some of %s\n", o.kinds[unknown], strings.Join(kindNames(), ", "))
		os.Exit(2)
	}
	if flag.NArg() > 0 || o.seeds < 1 || o.faults < 0 || o.time <= 0 {
		fmt.Fprintln(os.Stderr, "nemesis: want no arguments, -seeds of at least 1, -faults of at least 0, -time above 0")
		os.Exit(2)
	}
	code, err := cluster.Contained("nemesis", o.program, o.keep, func(program, folder string) int { return o.contained(program, folder) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "nemesis:", err)
		code = 2
	}
	os.Exit(code)
}

// contained runs the seeds inside the namespaces.
func (o *options) contained(program, folder string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.leaveOut(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "nemesis:", err)
		return 2
	}
	var sum totals
	for n := range o.seeds {
		err := o.runSeed(ctx, o.seed+uint64(n), program, folder, &sum)
		switch {
		case errors.Is(err, errViolated):
			code = 1
		case err != nil:
			fmt.Fprintln(os.Stderr, "nemesis:", err)
			return 2
		}
	}
	fmt.Println(&sum)
	return code
}

// leaveOut removes the faults that this machine cannot make, and says so; in CI a
// missing strace is an error.
func (o *options) leaveOut(ctx context.Context) error {
	if !slices.ContainsFunc(o.kinds, ofDisk) {
		return nil
	}
	err := diskfault.CanTrace(ctx)
	if err == nil || os.Getenv("CI") == "true" {
		return err
	}
	o.kinds = slices.DeleteFunc(o.kinds, ofDisk)
	fmt.Println("left out, faults of disks:", err)
	if len(o.kinds) == 0 {
		return errors.New("nothing is left to do")
	}
	return nil
}
