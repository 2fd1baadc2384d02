// Command polite asks whether a node stays polite, and its healthy channels
// undisturbed, while other hosts are slow, dead, refusing or malicious.
//
// It starts a node as a child process twice, on the same origins with the same
// seed: once all hosts are healthy, once 5 % are slow, 5 % dead, 5 % refuse with
// Retry-After and 2 % send endless or exploding bodies. What counts: violations in
// the origin's log (none), the lateness of healthy channels (p99 within 1.2 times of
// the healthy run), memory (within 64 MiB of it).
//
//	go run ./benchmarks/polite
//
// With -kills the node is killed so often in one sick run, at any instant, and the
// same rules hold over its restarts:
//
//	go run ./benchmarks/polite -kills 20
//
// The exit code is 1 when a threshold is missed.
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
	channels, hosts      int
	interval, floor, gap time.Duration
	parallel             int
	measure              time.Duration
	kills                int
	seed                 uint64
	program              string
	out                  string
	keep                 bool
}

func main() {
	var o options
	flag.IntVar(&o.channels, "channels", 2000, "feeds")
	flag.IntVar(&o.hosts, "hosts", 500, "addresses of 127.0.0.0/8 that they are on")
	flag.DurationVar(&o.interval, "interval", 30*time.Second, "the node's polling interval")
	flag.DurationVar(&o.floor, "floor", 15*time.Second, "the node's floor")
	flag.DurationVar(&o.gap, "gap", 1500*time.Millisecond, "the node's host gap")
	flag.IntVar(&o.parallel, "parallel", 2, "the node's requests to a host at a time")
	flag.DurationVar(&o.measure, "measure", 2*time.Minute, "how long each run is measured")
	flag.IntVar(&o.kills, "kills", 0, "how often the node is killed, in one run with sick hosts")
	flag.Uint64Var(&o.seed, "seed", 1, "of sick hosts, changes and kills")
	flag.StringVar(&o.program, "program", "", "command corona (default: built from this module)")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON (default: standard output alone)")
	flag.BoolVar(&o.keep, "keep", false, "keep the nodes' data and logs")
	flag.Parse()
	if flag.NArg() > 0 || o.hosts < 1 || o.channels < o.hosts || o.measure <= 0 || o.floor > o.interval || o.kills < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := report(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "polite:", err)
	}
	if err != nil || !held {
		os.Exit(1)
	}
}

// report runs the scenario and says whether every threshold holds.
func report(ctx context.Context, o options) (held bool, err error) {
	result, err := execute(ctx, o)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return false, err
	}
	fmt.Println(string(text))
	if o.out != "" {
		err = os.WriteFile(o.out, append(text, '\n'), 0o644)
	}
	return result.held(), err
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
