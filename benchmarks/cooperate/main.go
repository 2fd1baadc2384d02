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
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

const usage = `Runs nodes that poll the same channels together, and judges them at the origin.

  go run ./benchmarks/cooperate                          # five nodes, 1,000 channels, two minutes
  go run ./benchmarks/cooperate -faults                  # two of them die, one after the other, and come back
  go run ./benchmarks/cooperate -width                   # a crowd comes to one channel: widths 1 to 5
  go run ./benchmarks/cooperate -beside                  # then one node with the same channels
  go run ./benchmarks/cooperate -faults -channels 20000 -out result.json
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
  change, beyond that of idle nodes, at most 1.15 times that of one node.

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
	flag.IntVar(&o.entries, "entries", window, "entries of each feed, of some 430 bytes each")
	flag.DurationVar(&o.interval, "interval", 20*time.Second, "τ, the nodes' polling interval")
	flag.DurationVar(&o.floor, "floor", 0, "the nodes' floor (default τ/6)")
	flag.DurationVar(&o.maintenance, "maintenance", 0, "the nodes' maintenance interval (default τ/2)")
	flag.DurationVar(&o.gap, "host-gap", 100*time.Millisecond, "the nodes' host gap")
	flag.Float64Var(&o.changes, "changes", 0, "changes a second (default one of each channel in 3τ, 100 at most)")
	flag.DurationVar(&o.window, "window", 0, "how long nodes are measured while all is calm (default 2τ)")
	flag.BoolVar(&o.faults, "faults", false, "kill two nodes, one after the other, and bring them back")
	flag.BoolVar(&o.width, "width", false, "a crowd comes to one channel, and nothing else")
	flag.BoolVar(&o.beside, "beside", false, "then measure one node with the same channels")
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

// complete fills in what was not given, and refuses what cannot be run.
func (o *options) complete() error {
	o.hosts = cmp.Or(o.hosts, max(o.channels/10, 1))
	o.subscriptions = cmp.Or(o.subscriptions, o.channels+min(4*o.channels, 8000))
	o.floor = cmp.Or(o.floor, o.interval/6)
	o.maintenance = cmp.Or(o.maintenance, o.interval/2)
	o.changes = cmp.Or(o.changes, min(float64(o.channels)/(3*o.interval.Seconds()), 100))
	o.window = cmp.Or(o.window, 2*o.interval)
	switch {
	case flag.NArg() > 0:
		return errors.New("want no arguments")
	case o.nodes < 1 || o.channels < 1 || o.hosts < 1 || o.hosts > mostHosts || o.subscriptions < o.channels:
		return fmt.Errorf("want nodes, channels, 1 to %d hosts, and a subscription for each channel at least", mostHosts)
	case o.entries < 2 || o.entries > window:
		return fmt.Errorf("want feeds of 2 to %d entries", window)
	case o.floor <= 0 || o.floor > o.interval || o.maintenance <= 0 || o.gap <= 0 || o.window < o.interval || o.changes < 0:
		return errors.New("want times above 0, a floor of at most -interval, a window of at least -interval, and changes of at least 0")
	case o.costs != "" && (o.width || o.nodes < 2):
		return errors.New("-costs wants two nodes at least, and no -width")
	case o.faults && o.nodes < 4 || o.width && (o.faults || o.beside):
		return errors.New("-faults wants 4 nodes at least, and -width is a run of its own")
	}
	return nil
}

// contained runs inside the namespaces.
func (o *options) contained(program, folder string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	measure := o.together
	if o.width {
		measure = o.crowd
	}
	r, err := measure(ctx, program, folder)
	if err == nil {
		err = r.print(os.Stdout, o.out)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "cooperate:", err)
		return 2
	case !r.holds():
		return 1
	}
	return 0
}
