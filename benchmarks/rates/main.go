// Command rates asks whether a node polls as often as the optimiser says: planned
// load against the budget, polls as the node counts them and as the origin does
// against the plan, single channels against what the node explains, and what a
// flash crowd and a mass unsubscription do to all that.
//
// It starts an origin and a node as child processes, gives the node channels of
// skewed popularity on hosts of skewed size, and measures whole intervals. What
// counts: the thresholds at the end of the result.
//
//	go run ./benchmarks/rates
//	go run ./benchmarks/rates -policy fair-sqrt -cost bytes
//	go run ./benchmarks/rates -policy fast -target 2s
//	go run ./benchmarks/rates -quick
//
// The exit code is 1 when a threshold is missed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the scenario's flags.
type options struct {
	channels, subscriptions, hosts int
	interval, floor, hostGap       time.Duration
	policy, ladder, cost, budget   string
	target, maintenance            time.Duration
	settle                         time.Duration
	intervals, sampled             int
	crowd                          int
	crowdWithin                    time.Duration
	leave                          float64
	speedup                        float64
	seed                           uint64
	out                            string
}

func main() {
	var o options
	var quick bool
	flag.IntVar(&o.channels, "channels", 10_000, "channels")
	flag.IntVar(&o.subscriptions, "subscriptions", 100_000, "subscriptions, spread over channels by Zipf's law with exponent 0.5")
	flag.IntVar(&o.hosts, "hosts", 100, "addresses of 127.0.0.0/8 that channels are on, the first with the most")
	flag.DurationVar(&o.interval, "interval", time.Minute, "the node's polling interval")
	flag.DurationVar(&o.floor, "floor", time.Second, "the node's floor")
	flag.DurationVar(&o.hostGap, "host-gap", 30*time.Millisecond, "the node's gap between requests to a host; 0: none")
	flag.StringVar(&o.policy, "policy", "lite", "the node's policy")
	flag.StringVar(&o.ladder, "ladder", "any", "the node's ladder")
	flag.StringVar(&o.cost, "cost", "polls", "what the budget is of: polls or bytes")
	flag.StringVar(&o.budget, "budget", "auto", "the node's budget")
	flag.DurationVar(&o.target, "target", 0, "the target of policy fast")
	flag.DurationVar(&o.maintenance, "maintenance", time.Minute, "the node's time between two solves of all rates")
	flag.DurationVar(&o.settle, "settle", 2*time.Minute, "from the end of the first polls to the window")
	flag.IntVar(&o.intervals, "intervals", 10, "intervals that are measured")
	flag.IntVar(&o.sampled, "sampled", 200, "channels whose polls are compared one by one")
	flag.IntVar(&o.crowd, "crowd", 1000, "times as many subscribers as before that one channel gets; 1: no crowd")
	flag.DurationVar(&o.crowdWithin, "crowd-within", time.Minute, "how long they take to come")
	flag.Float64Var(&o.leave, "leave", 0.5, "share of all subscriptions that end at once; 0: none")
	flag.Float64Var(&o.speedup, "speedup", 10, "how many times as fast the origin's time runs")
	flag.Uint64Var(&o.seed, "seed", 1, "of popularity, hosts and content")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON (default: standard output alone)")
	flag.BoolVar(&quick, "quick", false, "a minute of it: 200 channels at an interval of 5s")
	flag.Parse()
	if quick {
		o.shorten()
	}
	if flag.NArg() > 0 || o.channels < 1 || o.hosts < 1 || o.subscriptions < o.channels || o.intervals < 1 || o.crowd < 1 || o.leave < 0 || o.leave > 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := report(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rates:", err)
	}
	if err != nil || !held {
		os.Exit(1)
	}
}

// shorten makes a run of a minute, for a machine that has other work.
func (o *options) shorten() {
	o.channels, o.subscriptions, o.hosts, o.sampled = 200, 2000, 10, 50
	o.interval, o.floor, o.hostGap = 5*time.Second, 200*time.Millisecond, 15*time.Millisecond
	o.maintenance, o.settle, o.intervals = 5*time.Second, 8*time.Second, 4
	o.crowd, o.crowdWithin = 100, 3*time.Second
}

// report runs the scenario and says whether every threshold holds.
func report(ctx context.Context, o options) (held bool, err error) {
	result, failure := run(ctx, o) // what was measured before a failure is kept
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return false, errors.Join(failure, err)
	}
	fmt.Println(string(text))
	if o.out != "" {
		err = os.WriteFile(o.out, append(text, '\n'), 0o644)
	}
	return result.held(), errors.Join(failure, err)
}
