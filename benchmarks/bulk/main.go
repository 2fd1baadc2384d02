//go:build unix

// Command bulk measures what many subscriptions cost to make and to list: a node, an
// import of made-up URLs by the command that users have, the same import again,
// walks through all channels and subscriptions, and single requests to a node that
// holds them. Nothing is polled meanwhile but one channel of each address.
//
//	go run ./benchmarks/bulk -channels 300000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the scenario's flags.
type options struct {
	channels int
	out      string
}

func main() {
	var o options
	flag.IntVar(&o.channels, "channels", 300_000, "channels, of one subscription each")
	flag.StringVar(&o.out, "out", "", "file for the result's JSON (default: standard output alone)")
	flag.Parse()
	if flag.NArg() > 0 || o.channels < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bulk:", err)
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
