// Command replay runs recorded histories through a whole node and asks of every
// entry that a history holds: did it arrive, once, and how soon? An origin replays
// the traces, a node polls it, a webhook and a stream receive. What should arrive
// is computed from the traces alone, with a feed parser that shares nothing with
// the node's own reading of them.
//
//	go run ./benchmarks/replay -interval 1s -captures 120 TRACE.jsonl.zst …
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the scenario's flags.
type options struct {
	interval time.Duration
	captures int
	show     int
	traces   []string
}

func main() {
	var o options
	flag.DurationVar(&o.interval, "interval", time.Second, "the node's polling interval; each capture stands for two")
	flag.IntVar(&o.captures, "captures", 60, "captures to replay of each history")
	flag.IntVar(&o.show, "show", 1, "updates of each history to print, for a person to read")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: replay [flags] TRACE.jsonl.zst …")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.traces = flag.Args()
	if len(o.traces) == 0 || o.captures < 2 || o.interval < time.Second {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := run(ctx, o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(3)
	case !held:
		os.Exit(1)
	}
}
