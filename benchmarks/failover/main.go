//go:build linux

// Command failover measures how long writes wait after something happens to one of three
// nodes, or to all: from the fault until a write was acknowledged in every range, at the
// nodes that are left.
//
// It ends with 0 when each kind of fault keeps its limit; with 1 when one does not; with
// 2 when it could not run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

const usage = `Measures how long writes wait after a fault of a cluster of three nodes.

  go run ./benchmarks/failover                                      # 100 kills, 30 of each other fault
  go run ./benchmarks/failover -kills 10 -pauses 3 -cuts 3 -stalls 3 -all 2

  go run ./benchmarks/failover -calm 60s                            # five idle nodes: what do they cost?
  go run ./benchmarks/failover -calm 1h -nodes 3 -channels 2000     # three nodes that poll: no election

A writer per range begins a write each 200 ms at the nodes that are left, by turns, whether
or not those before were answered; a fault's time is from its beginning until each writer
has been answered once. The victim is a node that leads ranges. Between faults it waits until
all nodes are ready and each leads some. It needs Linux, root (for network namespaces),
iproute2, and strace for stalls. Writes are subscriptions, each durable on two nodes; all
nodes share this machine's disk and processors, so figures of a busy machine are too high.

Flags:
`

// options are what the command line says.
type options struct {
	counts  []int // by kind
	seed    uint64
	program string
	keep    bool
	calm    calmOptions
}

func main() {
	o := options{counts: make([]int, len(kinds))}
	for i, k := range kinds {
		flag.IntVar(&o.counts[i], k.flag, k.count, k.says)
	}
	flag.Uint64Var(&o.seed, "seed", 1, "what the victims and instants follow from")
	flag.DurationVar(&o.calm.window, "calm", 0, "instead of faults, watch nodes to which nothing happens for so long: processor, memory, elections")
	flag.IntVar(&o.calm.nodes, "nodes", 5, "with -calm: nodes")
	flag.IntVar(&o.calm.ranges, "ranges", 64, "with -calm: ranges, each on three nodes")
	flag.IntVar(&o.calm.channels, "channels", 0, "with -calm: channels, polled once in 10 s, and changing once a minute")
	flag.StringVar(&o.calm.costs, "costs", "", "with -calm and no channels: a `file` of measured costs, which gets those of idle nodes")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.BoolVar(&o.keep, "keep", false, "keep data and logs when every limit is kept, too")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || slices.Min(o.counts) < 0 || o.calm.window < 0 || min(o.calm.nodes, o.calm.ranges) < 1 || o.calm.channels < 0 ||
		o.calm.costs != "" && (o.calm.window == 0 || o.calm.channels > 0) {
		fmt.Fprintln(os.Stderr, "failover: want no arguments, counts and durations of at least 0, and nodes and ranges")
		os.Exit(2)
	}
	code, err := cluster.Contained("failover", o.program, o.keep, func(program, folder string) int { return o.contained(program, folder) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		code = 2
	}
	os.Exit(code)
}

// contained measures inside the namespaces.
func (o *options) contained(program, folder string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.calm.window > 0 {
		kept, err := o.watch(ctx, program, folder, os.Stdout)
		return exitCode(kept, err)
	}
	results, err := o.measure(ctx, program, folder)
	return exitCode(err == nil && report(os.Stdout, results), err)
}

func exitCode(kept bool, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		return 2
	}
	if !kept {
		return 1
	}
	return 0
}

// kind is a fault and the limit of what it may cost.
type kind struct {
	name, flag, says string
	count            int
	share            float64 // of the times, from the shortest, that must keep the limit
	limit            time.Duration
}

// kinds are all of them, in the order in which they are measured.
var kinds = []kind{
	{"kill", "kills", "SIGKILL of a node", 100, 0.99, 5 * time.Second},
	{"pause", "pauses", "SIGSTOP of a node", 30, 1, 6 * time.Second},
	{"cut", "cuts", "a node is cut off from the others", 30, 1, 6 * time.Second},
	{"stall", "stalls", "syncs of a node take 15 s", 30, 1, 8 * time.Second},
	{"all", "all", "SIGKILL of all nodes, which are started at once", 10, 1, 20 * time.Second},
}
