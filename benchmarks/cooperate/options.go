//go:build linux

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
)

// complete fills in what was not given, and refuses what cannot be run.
func (o *options) complete() error {
	o.hosts = cmp.Or(o.hosts, max(o.channels/10, 1))
	o.subscriptions = cmp.Or(o.subscriptions, o.usualCrowd())
	o.floor = cmp.Or(o.floor, o.interval/6)
	o.changes = cmp.Or(o.changes, min(float64(o.channels)/(3*o.interval.Seconds()), 100))
	o.window = cmp.Or(o.window, 2*o.interval)
	o.crowdOver = cmp.Or(o.crowdOver, 2*o.interval)
	o.target = cmp.Or(o.target, o.interval/8)
	entries, gap, maintenance := window, 100*time.Millisecond, o.interval/2
	if o.planned() {
		entries, gap = 16, 10*time.Millisecond
	}
	if o.simulated() {
		maintenance = o.interval
	}
	o.entries, o.gap, o.maintenance = cmp.Or(o.entries, entries), cmp.Or(o.gap, gap), cmp.Or(o.maintenance, maintenance)
	return o.check()
}

// simulated says that the run is compared with the simulator.
func (o *options) simulated() bool { return o.table2 || o.deployment }

// planned says that the run is about plans and the times of polls alone.
func (o *options) planned() bool { return o.simulated() || o.settle }

// usualCrowd is how many subscriptions there are unless it is said.
func (o *options) usualCrowd() int {
	switch {
	case o.deployment:
		return 20 * o.channels // the paper's
	case o.planned():
		return 5 * o.channels
	}
	return o.channels + min(4*o.channels, 8000)
}

func (o *options) check() error {
	switch {
	case flag.NArg() > 0:
		return errors.New("want no arguments")
	case o.nodes < 1 || o.channels < 1 || o.hosts < 1 || o.hosts > mostHosts || o.subscriptions < o.channels:
		return fmt.Errorf("want nodes, channels, 1 to %d hosts, and a subscription for each channel at least", mostHosts)
	case o.simulated() && o.subscriptions < 2*o.channels:
		return errors.New("-table2 and -deployment want two subscriptions for each channel, so that each has one")
	case o.entries < 2 || o.entries > window:
		return fmt.Errorf("want feeds of 2 to %d entries", window)
	case o.floor <= 0 || o.floor > o.interval || o.maintenance <= 0 || o.gap <= 0 || o.crowdOver <= 0 || o.window < o.interval || o.changes < 0:
		return errors.New("want times above 0, a floor of at most -interval, a window of at least -interval, and changes of at least 0")
	case o.simulated() && o.maintenance < o.interval:
		return errors.New("-table2 and -deployment want a maintenance interval of τ at least, as the simulator does")
	case o.policy != "" && !o.table2:
		return errors.New("-policy is for -table2")
	case o.costs != "" && (o.width || o.planned() || o.nodes < 2):
		return errors.New("-costs wants two nodes at least, and no run of another kind")
	case (o.faults || o.settle) && o.nodes < 4:
		return errors.New("-faults and -settle want 4 nodes at least")
	case o.kinds() > 1:
		return errors.New("-width, -table2, -deployment and -settle are runs of their own")
	}
	return nil
}

// kinds is how many runs are asked for that go by themselves.
func (o *options) kinds() (n int) {
	for _, asked := range []bool{o.width, o.table2, o.deployment, o.settle, o.faults || o.beside} {
		if asked {
			n++
		}
	}
	return n
}

// measure returns what is asked for.
func (o *options) measure() func(ctx context.Context, program, folder string) (*result, error) {
	switch {
	case o.width:
		return o.crowdRun
	case o.table2:
		return o.tableRun
	case o.deployment:
		return o.deploymentRun
	case o.settle:
		return o.settleRun
	}
	return o.together
}

// contained runs inside the namespaces.
func (o *options) contained(program, folder string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := o.measure()(ctx, program, folder)
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
