//go:build linux

// Command bulk measures what many subscriptions cost.
//
// Without -nodes: a node alone, an import of made-up URLs by the command that users
// have, the same import again, walks through all channels and subscriptions, and single
// requests to a node that holds them. With -nodes: subscriptions to popular and less
// popular channels, by batches to all nodes of a cluster at once. Nothing is polled
// meanwhile but one channel of each address.
//
//	go run ./benchmarks/bulk -channels 300000
//	go run ./benchmarks/bulk -nodes 3
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

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

// options are the scenario's flags.
type options struct {
	channels int
	out      string

	// Of a cluster.
	nodes, subscriptions int
	keys                 bool
	within               time.Duration
	program, profiles    string
}

func main() {
	var o options
	flag.IntVar(&o.channels, "channels", 0, "channels; 0: 300,000 of one subscription each, or 100,000 with -nodes")
	flag.StringVar(&o.out, "out", "", "`file` for the result's JSON (default: standard output alone)")
	flag.IntVar(&o.nodes, "nodes", 0, "nodes of a cluster; 0: a node alone. Needs root, for network namespaces, and iproute2")
	flag.IntVar(&o.subscriptions, "subscriptions", 5_000_000, "with -nodes: subscriptions, of which channel i gets a share by 1/√i")
	flag.BoolVar(&o.keys, "keys", false, "with -nodes: each with an idempotency key")
	flag.DurationVar(&o.within, "within", 15*time.Minute, "with -nodes: the time for all of the scenario")
	flag.StringVar(&o.program, "program", "", "with -nodes: the corona `binary` to test, rather than one built from this module")
	flag.StringVar(&o.profiles, "profiles", "", "with -nodes: `folder` for a profile of each node, of half a minute under load")
	flag.Parse()
	if o.channels == 0 {
		o.channels = 300_000
		if o.nodes > 0 {
			o.channels = 100_000
		}
	}
	if flag.NArg() > 0 || o.channels < 1 || o.nodes < 0 || o.nodes > 0 && o.subscriptions < o.channels {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(o.main())
}

func (o *options) main() int {
	scenario := func(run func(context.Context) (any, error)) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		result, err := run(ctx)
		if err == nil {
			err = o.report(result)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bulk:", err)
			return 1
		}
		return 0
	}
	if o.nodes == 0 {
		return scenario(func(ctx context.Context) (any, error) { return run(ctx, *o) })
	}
	code, err := cluster.Contained("bulk", o.program, false, func(program, folder string) int {
		return scenario(func(ctx context.Context) (any, error) { return runCluster(ctx, *o, program, folder) })
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bulk:", err)
		return 2
	}
	return code
}

func (o *options) report(result any) error {
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
