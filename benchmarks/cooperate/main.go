//go:build linux

// Command cooperate runs several nodes that poll the same channels, each from an address of
// its own, and judges at the origin whether they cooperate: that they keep floors, hosts'
// caps and the budget, that they see changes as soon as was planned, that no change is lost
// or told twice, and what that costs, also while nodes die and come back. It uses the
// contract alone, and the metric corona_wedge_bytes_total.
//
// It ends with 0 when every rule holds; with 1 when one does not, and says which; with 2
// when it could not run.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

const usage = `Runs nodes that poll the same channels together, and judges them at the origin.

  go run ./benchmarks/cooperate                          # five nodes, 1,000 channels, two minutes
  go run ./benchmarks/cooperate -faults                  # two of them die, one after the other, and come back
  go run ./benchmarks/cooperate -width                   # a crowd comes to one channel: widths 1 to 5
  go run ./benchmarks/cooperate -beside                  # then one node with the same channels
  go run ./benchmarks/cooperate -faults -channels 20000 -out result.json
  go run ./benchmarks/cooperate -table2                  # the paper's five policies, beside corona sim table2
  go run ./benchmarks/cooperate -deployment -channels 500 # subscriptions arrive, beside corona sim deployment
  go run ./benchmarks/cooperate -settle                  # a death, a return, crowds: how far plans are from the optimum
  go run ./benchmarks/cooperate -nodes 3 -channels 4000 -entries 8 -changes 200   # how soon streams get many updates

How it is judged. The origin is in this process. It notes of each poll which address made it
(each node has its own), when the kernel received it, and what it was answered. The wait of a
change is computed from the times of polls: had the channel changed at any instant, its next
poll would have shown that. The mean over all instants and channels, weighted by subscribers, is
compared with detection.planned_s of the nodes that lead the ranges. Changes really happen too,
-changes of them a second, each a new entry of a feed; what the nodes tell of them is read from a
stream of each node. With -faults, intervals of "settle" are the two maintenance intervals that
nodes have after a death or a return.

Rules:
  no poll of a channel by an address under the floor; no host asked more often in any τ than
  τ/host-gap; planned polls, and those made in any τ, within what subscribers would cause alone;
  waits at most 1.05 times the planned ones, except while nodes settle; each change that stood for
  two planned gaps is told, in one version; no change that was answered with 200, and then only with
  304, is told late or never; while all is calm 1.0 to 1.1 full answers for a change;
  between nodes at most 2 % of a document for each update and hop.
  -width: waits of τ/(2r) within 10 %.
  -beside: the busiest of n nodes makes at most 1.25/n of the polls; processor for each poll without a
  change, beyond that of idle nodes, at most 1.15 times that of one node; what a node's live heap holds for owning
  and polling channels is at most that of an idle one and 1.1 times its part of one node's: 3/n of what is for
  owning them, and of what is for polling them as many as it polls.
  -table2, -deployment: waits and polls within 10 % of those that the simulator measures for the same channels.
  -settle: three maintenance intervals after each event plans are within 2 % of the optimum of all channels,
  which this process solves for by itself; planned polls never more than 5 % beyond the subscriptions that there are.

It needs Linux, root (for network namespaces) and iproute2. All nodes and the origin share this
machine's processors: on a busy machine waits are longer than planned.

Flags:
`

// options are what the command line says.
type options struct {
	nodes, channels, hosts, subscriptions int
	entries                               int
	interval, floor, maintenance, gap     time.Duration
	changes                               float64 // a second
	window                                time.Duration
	faults, width, beside                 bool
	table2, deployment, settle            bool
	crowdOver                             time.Duration
	policy                                string        // of nodes; "": their default, and all of -table2
	target                                time.Duration // of policy fast
	seed                                  uint64
	program, out, costs                   string
	keep                                  bool
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 5, "nodes")
	flag.IntVar(&o.channels, "channels", 1000, "channels")
	flag.IntVar(&o.hosts, "hosts", 0, "hosts that they are on, by Zipf's law with exponent 0.5 (default a tenth of the channels)")
	flag.IntVar(&o.subscriptions, "subscriptions", 0, "subscriptions, by the same law (default five for each channel, but one for each channel and 8,000 more where that is less)")
	flag.IntVar(&o.entries, "entries", 0, "entries of each feed, of some 430 bytes each (default 65; 16 where waits are computed alone)")
	flag.DurationVar(&o.interval, "interval", 20*time.Second, "τ, the nodes' polling interval")
	flag.DurationVar(&o.floor, "floor", 0, "the nodes' floor (default τ/6)")
	flag.DurationVar(&o.maintenance, "maintenance", 0, "the nodes' maintenance interval (default τ/2; τ beside the simulator)")
	flag.DurationVar(&o.gap, "host-gap", 0, "the nodes' host gap (default 100ms; 10ms where hosts' caps are to keep no polls out)")
	flag.StringVar(&o.policy, "policy", "", "the one policy that -table2 measures (default all five)")
	flag.DurationVar(&o.target, "target", 0, "the mean wait that policy fast is to reach (default τ/8)")
	flag.Float64Var(&o.changes, "changes", 0, "changes a second (default one of each channel in 3τ, 100 at most)")
	flag.DurationVar(&o.window, "window", 0, "how long nodes are measured while all is calm (default 2τ)")
	flag.BoolVar(&o.faults, "faults", false, "kill two nodes, one after the other, and bring them back")
	flag.BoolVar(&o.width, "width", false, "a crowd comes to one channel, and nothing else")
	flag.BoolVar(&o.beside, "beside", false, "then measure one node with the same channels")
	flag.BoolVar(&o.table2, "table2", false, "measure each policy beside the simulator, and nothing else")
	flag.BoolVar(&o.deployment, "deployment", false, "let subscriptions arrive over 3τ, beside the simulator, and nothing else")
	flag.BoolVar(&o.settle, "settle", false, "compare plans with the optimum through a death, a return and two crowds, and nothing else")
	flag.DurationVar(&o.crowdOver, "crowd-over", 0, "how long it takes the crowds of -settle to come, and to leave (default 2τ)")
	flag.Uint64Var(&o.seed, "seed", 1, "what the changes and victims follow from")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON, beside the table")
	flag.StringVar(&o.costs, "costs", "", "a `file` of measured costs, which gets those of reports, news, orders, leases and changes")
	flag.BoolVar(&o.keep, "keep", false, "keep data and logs when every rule holds, too")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := o.complete(); err != nil {
		fmt.Fprintln(os.Stderr, "cooperate:", err)
		os.Exit(2)
	}
	code, err := cluster.Contained("cooperate", o.program, o.keep, o.contained)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cooperate:", err)
		code = 2
	}
	os.Exit(code)
}
