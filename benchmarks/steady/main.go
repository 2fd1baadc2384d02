// Command steady measures a node that polls many channels at a steady rate: an
// origin with known update times, a node, an import of every channel, and then a
// window in which polls, lateness, CPU and memory are read from outside.
//
//	go run ./benchmarks/steady -channels 100000 -hosts 1000 -interval 60s
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
	speedup         float64
	seed            uint64
	settle, measure time.Duration
	out             string
}

func main() {
	var o options
	flag.IntVar(&o.channels, "channels", 100_000, "synthetic channels")
	flag.IntVar(&o.hosts, "hosts", 1_000, "addresses of 127.0.0.0/8 that they are on")
	flag.DurationVar(&o.interval, "interval", time.Minute, "the node's polling interval")
	flag.Float64Var(&o.speedup, "speedup", 1, "how many times as fast the origins' time runs")
	flag.Uint64Var(&o.seed, "seed", 1, "of the origins' content and update times")
	flag.DurationVar(&o.settle, "settle", 2*time.Minute, "from the end of the first polls to the window")
	flag.DurationVar(&o.measure, "measure", 5*time.Minute, "the window")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON (default: standard output alone)")
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
	result, err := run(ctx, o)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644)
}
