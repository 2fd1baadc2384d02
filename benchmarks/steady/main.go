// Command steady measures a node that polls many channels at a steady rate: an
// origin with known update times, a node, an import of every channel, and then a
// window in which polls, lateness, processor, memory and disk are read from
// outside; last, what it takes to stop and to start again.
//
//	go run ./benchmarks/steady -channels 100000 -hosts 1000 -interval 60s
//	go run ./benchmarks/steady -channels 1000000 -hosts 2000 -interval 50s -floor 25s -fill-interval 1h -speedup 0.2 -measure 10m
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the scenario's flags.
type options struct {
	channels, hosts int
	interval        time.Duration
	fillInterval    time.Duration
	floor           time.Duration
	speedup         float64
	seed            uint64
	settle, measure time.Duration
	restart         bool
	folder          string
	profiles        string
	out             string
	costs           string
}

func main() {
	var o options
	flag.IntVar(&o.channels, "channels", 100_000, "synthetic channels")
	flag.IntVar(&o.hosts, "hosts", 1_000, "addresses of 127.0.0.0/8 that they are on")
	flag.DurationVar(&o.interval, "interval", time.Minute, "the node's polling interval")
	flag.DurationVar(&o.fillInterval, "fill-interval", 0, "the interval until every channel has been polled once, after which the node is restarted with -interval (default: that)")
	flag.DurationVar(&o.floor, "floor", 0, "the node's floor (default: the node's, which is the interval up to 5m)")
	flag.Float64Var(&o.speedup, "speedup", 1, "how many times as fast the origins' time runs")
	flag.Uint64Var(&o.seed, "seed", 1, "of the origins' content and update times")
	flag.DurationVar(&o.settle, "settle", 2*time.Minute, "from the end of the first polls to the window")
	flag.DurationVar(&o.measure, "measure", 5*time.Minute, "the window")
	flag.BoolVar(&o.restart, "restart", true, "after the window, stop the node, start it, kill it, start it, and time that")
	flag.StringVar(&o.folder, "folder", "", "where the data directory is made and removed (default: the system's)")
	flag.StringVar(&o.profiles, "profiles", "", "folder for profiles of processor and heap, taken after the window; made if need be")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON (default: standard output alone)")
	flag.StringVar(&o.costs, "costs", "", "a file of measured costs, which gets those of polls and of memory for each channel")
	flag.Parse()
	if flag.NArg() > 0 || o.channels < 1 || o.hosts < 1 || o.measure <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "steady:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, o options) error {
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return err
		}
	}
	result, err := run(ctx, o)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	if err := result.note(o.costs); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644)
}
