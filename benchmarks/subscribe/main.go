// Command subscribe asks what single subscriptions cost a node: clients make them one by one
// through HTTP, each waits for its answer, and builds of corona take turns in chance order.
//
//	go run ./benchmarks/subscribe -rounds 8 ./corona-before ./corona-now
//
// It prints, for each run, processor time of the node a subscription, latencies and the rate; then the medians of each build, and how they are to the first one's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

type options struct {
	count, clients, rounds int
	programs               []string
}

func main() {
	var o options
	flag.IntVar(&o.count, "n", 50_000, "subscriptions in a run")
	flag.IntVar(&o.clients, "clients", 64, "that subscribe at a time")
	flag.IntVar(&o.rounds, "rounds", 6, "runs of each program without idempotency keys, and as many with")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: subscribe [flags] PROGRAM…")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.programs = flag.Args()
	if len(o.programs) == 0 || o.count < 1 || o.clients < 1 || o.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "subscribe:", err)
		os.Exit(1)
	}
}

// run has the programs take turns.
func (o *options) run(ctx context.Context) error {
	for _, keyed := range []bool{false, true} {
		fmt.Printf("keys: %t\n%-40s %9s %9s %9s %9s\n", keyed, "program", "µs", "p50 ms", "p99 ms", "/s")
		all := make([][]figures, len(o.programs))
		for range o.rounds {
			for _, i := range rand.Perm(len(o.programs)) {
				f, err := o.measure(ctx, o.programs[i], keyed)
				if err != nil {
					return fmt.Errorf("%s: %w", o.programs[i], err)
				}
				f.print(o.programs[i], "%9.2f")
				all[i] = append(all[i], f)
			}
		}
		first := medians(all[0])
		for i, program := range o.programs {
			now := medians(all[i])
			now.print("median of "+program, "%9.2f")
			for n := range now {
				now[n] /= first[n]
			}
			now.print("  to the first program's", "%9.3f")
		}
	}
	return nil
}

// figures are microseconds of the node's processor a subscription, milliseconds of the median and
// the 99th percentile of latencies, and subscriptions a second.
type figures [4]float64

func (f figures) print(name, form string) {
	fmt.Printf("%-40s", name)
	for _, value := range f {
		fmt.Printf(" "+form, value)
	}
	fmt.Println()
}

func medians(runs []figures) (m figures) {
	for i := range m {
		var values []float64
		for _, run := range runs {
			values = append(values, run[i])
		}
		slices.Sort(values)
		m[i] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return m
}

// measure starts a fresh node and subscribes to as many channels, of one host that is asked
// for one of them.
func (o *options) measure(ctx context.Context, program string, keyed bool) (f figures, err error) {
	folder, err := os.MkdirTemp("", "corona-subscribe-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(folder)
	address, err := child.OwnAddress(ctx)
	if err != nil {
		return f, err
	}
	node, err := child.Begin(filepath.Join(folder, "log"), program, "serve", "--data", filepath.Join(folder, "data"),
		"--listen", address, "--allow-private", "--host-gap", "10m", "--host-parallel", "1")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, node.Stop(), node.Close()) }()
	if err := child.AwaitURL(ctx, "http://"+address+"/readyz", node); err != nil {
		return f, err
	}
	before, err := process.CPUTime(node.PID())
	if err != nil {
		return f, err
	}
	begun := time.Now()
	took, err := o.subscribe(ctx, "http://"+address, keyed)
	if err != nil {
		return f, err
	}
	f[3] = float64(o.count) / time.Since(begun).Seconds()
	after, err := process.CPUTime(node.PID())
	f[0] = (after - before).Seconds() * 1e6 / float64(o.count)
	f[1], f[2] = took[len(took)/2].Seconds()*1e3, took[len(took)*99/100].Seconds()*1e3
	return f, err
}

// subscribe returns how long each subscription took, sorted.
func (o *options) subscribe(ctx context.Context, server string, keyed bool) ([]time.Duration, error) {
	var number atomic.Int64
	took, failures := make([][]time.Duration, o.clients), make([]error, o.clients)
	var clients sync.WaitGroup
	for i := range o.clients {
		client, err := api.NewClient(server, nil)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		clients.Go(func() {
			for n := number.Add(1); n <= int64(o.count) && failures[i] == nil; n = number.Add(1) {
				request := api.SubscribeRequest{URL: fmt.Sprintf("http://127.0.0.1:19999/%d", n), Sink: api.Sink{Type: api.SinkSSE}}
				if keyed {
					request.Key = strings.Repeat("k", 16) + fmt.Sprint(n)
				}
				begun := time.Now()
				_, failures[i] = client.Subscribe(ctx, request)
				took[i] = append(took[i], time.Since(begun))
			}
		})
	}
	clients.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, errors.Join(failures...)
}
