package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/scrape"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/originaudit"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

// execute makes the runs in a folder of their own.
func execute(ctx context.Context, o options) (result, error) {
	folder, err := os.MkdirTemp("", "corona-polite-")
	if err != nil {
		return result{}, err
	}
	if o.keep {
		logf("data and logs of the nodes: %s", folder)
	} else {
		defer os.RemoveAll(folder)
	}
	if o.program == "" {
		if o.program, err = child.Build(ctx, folder); err != nil {
			return result{}, err
		}
	}
	if o.kills > 0 {
		sick, err := once(ctx, o, filepath.Join(folder, "sick"), 0, true)
		return newResult(o, sick.outcome), err
	}
	well, err := once(ctx, o, filepath.Join(folder, "well"), 0, false)
	if err != nil {
		return result{}, err
	}
	// The same port: slots are computed from URLs.
	sick, err := once(ctx, o, filepath.Join(folder, "sick"), well.port, true)
	return newResult(o, well.outcome, sick.outcome), err
}

// run is one node on one world.
type run struct {
	options
	world   *world
	node    *node
	port    uint16
	healthy map[string]bool // URLs whose host is not sick in either run
	policy  originaudit.Policy
	outcome outcome
}

// once makes one run.
func once(ctx context.Context, o options, folder string, port uint16, sick bool) (r *run, err error) {
	r = &run{options: o, healthy: make(map[string]bool), outcome: outcome{Sick: sick}}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return r, err
	}
	if r.world, err = newWorld(ctx, o, port, sick); err != nil {
		return r, err
	}
	defer r.world.Close()
	r.port = netip.MustParseAddrPort(r.world.Host(0)).Port()
	for i, url := range r.world.urls {
		if r.world.health[i] == healthy {
			r.healthy[url] = true
		}
	}
	if r.node, err = startNode(ctx, o, folder); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, r.node.Close()) }()
	return r, r.measure(ctx)
}

// slack is by how much the origin's times may differ from the node's: a machine
// that takes in thousands of first polls on two cores, which it shares with the
// origin, stands still for hundreds of milliseconds at a time.
const slack = time.Second

// measure imports, lets the node settle unless it is to be killed, and then watches
// the window.
func (r *run) measure(ctx context.Context) error {
	r.policy = originaudit.Policy{
		Interval: r.interval, Floor: r.floor, Gap: r.gap, Parallel: r.parallel, Contact: contact,
		Published: r.world.Published, Slack: slack, Settle: 3 * time.Second,
	}
	living, stop := context.WithCancel(ctx)
	var changing sync.WaitGroup
	defer changing.Wait()
	defer stop()
	changing.Go(func() { r.world.change(living) })
	if err := r.node.subscribe(ctx, r.world.urls); err != nil {
		return err
	}
	if r.kills == 0 {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	from := time.Now()
	if err := r.window(ctx); err != nil {
		return err
	}
	r.outcome.judge(r, from, time.Now())
	return r.node.Stop()
}

// settle waits until every healthy channel has been asked for, and then for an
// interval. A node that is killed is not waited for: its first polls are the
// likeliest to be lost.
func (r *run) settle(ctx context.Context) error {
	err := child.Await(ctx, "first polls", 5*time.Minute, func() (bool, error) {
		asked := make(map[string]bool)
		for _, e := range r.world.Log() {
			asked[e.URL()] = true
		}
		for url := range r.healthy {
			if !asked[url] {
				return false, nil
			}
		}
		return true, nil
	}, r.node.Process)
	if err != nil {
		return err
	}
	logf("every healthy channel was asked for; settling for an interval")
	return pause(ctx, r.interval)
}

// window samples memory until the time is over, or kills the node now and then.
func (r *run) window(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.options.measure)
	defer cancel()
	for kill := range r.kills {
		random := rand.New(rand.NewPCG(r.seed, uint64(2+kill)))
		wait := time.Duration((0.5 + random.Float64()) * float64(r.options.measure) / float64(r.kills+1))
		if pause(ctx, wait) != nil {
			break
		}
		if err := r.restart(ctx); err != nil {
			return err
		}
	}
	return r.sample(ctx)
}

// restart kills the node and starts it again at once.
func (r *run) restart(ctx context.Context) error {
	if err := r.node.Kill(); err != nil {
		return err
	}
	r.policy.Kills = append(r.policy.Kills, time.Now())
	if err := r.node.Start(); err != nil {
		return err
	}
	r.policy.Starts = append(r.policy.Starts, time.Now())
	logf("killed %d times", len(r.policy.Kills))
	return child.AwaitURL(context.WithoutCancel(ctx), r.node.url+"/readyz", r.node.Process)
}

// sample reads the node's memory until the context's time is over.
func (r *run) sample(ctx context.Context) error {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err()
			}
			m, err := scrape.Read(context.WithoutCancel(ctx), r.node.url)
			r.outcome.NodeLatenessP99Ms = 1000 * m.Quantile("corona_engine_lateness_seconds", 0.99)
			r.outcome.HeapBytes = int64(m.Sum("go_memstats_heap_inuse_bytes"))
			return err
		case <-ticker.C:
		}
		resident, err := process.Resident(r.node.PID())
		if err != nil {
			return errors.Join(r.node.Alive(), fmt.Errorf("memory of the node: %w", err))
		}
		r.outcome.RSSMaxBytes = max(r.outcome.RSSMaxBytes, resident)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// kindOf names the health of a URL's host, for violations.
func (w *world) kindOf(url string) string {
	for i, known := range w.urls {
		if known == url {
			return w.health[i].String()
		}
	}
	return "no host"
}
