//go:build unix

// Command solve measures corona solve on generated files of channels with mixed
// sizes, hosts, update intervals and bounds: all policies, ladders and costs, with
// and without a cap of hosts, and what it says to bad rows.
//
//	go run ./benchmarks/solve -rows 100000,1000000,10000000
//
// Question: how long do its phases take, how do they grow, how far is the solution
// from the bound, and how much memory does the process take? What counts: prepare
// and solve over sort (0.5 at a million rows, lite, polls, ladder any), and over
// the same of a tenth of the rows (12).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// options are the scenario's flags.
type options struct {
	rows    []int
	repeat  int
	seed    uint64
	folder  string
	out     string
	limited bool
}

func main() {
	var o options
	rows := flag.String("rows", "100000", "rows of the files, separated by commas")
	flag.IntVar(&o.repeat, "repeat", 3, "times that each problem is solved; times are medians")
	flag.Uint64Var(&o.seed, "seed", 1, "of the files")
	flag.StringVar(&o.folder, "folder", "", "for the files, kept (default: a temporary one)")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON")
	flag.BoolVar(&o.limited, "limited", false, "ladder any alone")
	flag.Parse()
	for text := range strings.SplitSeq(*rows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			flag.Usage()
			os.Exit(2)
		}
		o.rows = append(o.rows, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "solve:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, o options) error {
	result, err := run(ctx, o)
	if err != nil {
		return err
	}
	if err := result.print(os.Stdout); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644)
}
