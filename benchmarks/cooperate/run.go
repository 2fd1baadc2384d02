//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// run is one cluster with its origin and readers.
type run struct {
	*options
	places  []place
	origin  *origin
	told    *told
	plan    planner
	cluster *cluster.Cluster
	clients []*api.Client // of each node
	names   []string
	running sync.WaitGroup
	keys    int // that subscriptions came with

	mu     sync.Mutex
	dead   map[*cluster.Node]bool
	crowds [][]string // of each channel, the subscriptions that there are
	asked  int        // subscriptions that were asked for and not answered
}

const (
	fillWithin    = 10 * time.Minute
	settledWithin = 3 * time.Minute // that the first leaders hand their ranges over
)

// with runs so many nodes beside an origin, has them serve channels, and calls do.
func (o *options) with(ctx context.Context, nodes int, places []place, program, folder string, do func(ctx context.Context, r *run) error) (err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	r := &run{options: o, places: places, dead: make(map[*cluster.Node]bool), crowds: make([][]string, len(places))}
	r.plan.longest = make([]float64, len(places))
	r.cluster, err = cluster.New(ctx, cluster.Config{Nodes: nodes, Program: program, Folder: folder, Args: append(o.policyArgs(),
		"--interval", o.interval.String(), "--floor", o.floor.String(), "--maintenance", o.maintenance.String(),
		"--host-gap", o.gap.String(), "--disk-reserve", fmt.Sprint(64<<20))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer r.running.Wait()
	defer stop()
	if err := r.serve(ctx); err != nil {
		return err
	}
	if err := r.cluster.Start(ctx); err != nil {
		return err
	}
	if err := r.cluster.Settled(ctx, settledWithin); err != nil {
		return err
	}
	return errors.Join(do(ctx, r), ctx.Err())
}

// serve starts the origin until the context ends, and makes clients.
func (r *run) serve(ctx context.Context) error {
	began := time.Now()
	addresses := make(map[string]int8)
	for i, node := range r.cluster.Nodes {
		addresses[node.Address] = int8(i)
		r.names = append(r.names, node.Name)
		client, err := api.NewClient(node.API, nil)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
	}
	r.origin, r.told = newOrigin(began, r.places, r.entries, addresses), newTold(began, r.places)
	listener, err := r.origin.listen(ctx)
	if err != nil {
		return err
	}
	r.running.Go(func() { _ = r.origin.Serve(listener) }) // always ErrServerClosed
	r.running.Go(func() {
		<-ctx.Done()
		_ = r.origin.Close()
	})
	return nil
}

// fill subscribes, and waits until each channel has its first version.
func (r *run) fill(ctx context.Context) error {
	r.listen(ctx)
	var due []coming
	for n, p := range r.places {
		due = append(due, atOnce(n, p.subscribers)...)
	}
	if err := r.arrive(ctx, due); err != nil {
		return err
	}
	return r.filled(ctx)
}

// listen reads a stream of each node until the context ends.
func (r *run) listen(ctx context.Context) {
	for _, node := range r.cluster.Nodes {
		r.running.Go(func() { r.told.read(ctx, r.clients[node.Index], node.Name) })
	}
}

// filled waits until each channel has its first version.
func (r *run) filled(ctx context.Context) error {
	err := child.Await(ctx, "first polls", fillWithin, func() (bool, error) { return r.origin.asked() == len(r.places), nil })
	if err != nil {
		return err
	}
	return child.Await(ctx, "first versions", fillWithin, func() (bool, error) {
		all, err := r.list(ctx)
		return err == nil && !slices.ContainsFunc(all, func(ch api.Channel) bool { return ch.Version == 0 }), nil
	})
}

// living returns the nodes that were not killed.
func (r *run) living() (nodes []*cluster.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, node := range r.cluster.Nodes {
		if !r.dead[node] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (r *run) setDead(node *cluster.Node, dead bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead[node] = dead
}

// reading is what a node has used so far.
type reading struct {
	processor time.Duration
	resident  int64 // bytes
	wedge     map[string]float64
	at        time.Duration
}

// wedgeBytes is by what nodes say to each other.
const wedgeBytes = "corona_wedge_bytes_total"

var wedgeKinds = []string{"orders", "news", "leases", "views", "reports", "notes"}

// wedgeCounts are how many reports and news there were between nodes, and orders at all.
var wedgeCounts = []string{reportsMade, newsTold, ordersTaken}

const (
	reportsMade = "corona_wedge_reports_total"
	newsTold    = "corona_wedge_news_total"
	ordersTaken = "corona_wedge_orders_total"
)

// used reads what all nodes have used.
func (r *run) used(ctx context.Context) (all []reading, err error) {
	for _, node := range r.cluster.Nodes {
		u := reading{wedge: make(map[string]float64), at: r.origin.now()}
		if u.processor, err = process.CPUTime(node.PID()); err != nil {
			return nil, errors.Join(err, node.Alive())
		}
		if u.resident, err = process.Resident(node.PID()); err != nil {
			return nil, err
		}
		metrics, err := scrape.Read(ctx, node.API)
		if err != nil {
			return nil, err
		}
		for _, of := range wedgeKinds {
			u.wedge[of] = metrics.Sum(wedgeBytes, fmt.Sprintf("of=%q", of))
		}
		for _, name := range wedgeCounts {
			u.wedge[name] = metrics.Sum(name)
		}
		all = append(all, u)
	}
	return all, nil
}

// spending is what all nodes together used in a span.
type spending struct {
	span
	processor time.Duration
	resident  []int64 // of each node, at the end
	wedge     map[string]float64
}

// spent measures for a time.
func (r *run) spent(ctx context.Context, length time.Duration) (s spending, err error) {
	before, err := r.used(ctx)
	if err != nil {
		return s, err
	}
	pause(ctx, length)
	after, err := r.used(ctx)
	if err != nil {
		return s, err
	}
	s.from, s.to = before[0].at, after[0].at
	s.wedge = make(map[string]float64)
	for i := range after {
		s.processor += after[i].processor - before[i].processor
		s.resident = append(s.resident, after[i].resident)
		for of := range maps.Keys(after[i].wedge) {
			s.wedge[of] += after[i].wedge[of] - before[i].wedge[of]
		}
	}
	return s, ctx.Err()
}

// kill ends a node, and waits; revive brings it back, and waits.
func (r *run) kill(ctx context.Context, node *cluster.Node, wait time.Duration) (during span, err error) {
	r.setDead(node, true)
	during.from = r.origin.now()
	if err := node.Kill(); err != nil {
		return during, err
	}
	return r.passed(ctx, during, wait)
}

func (r *run) revive(ctx context.Context, node *cluster.Node, wait time.Duration) (during span, err error) {
	during.from = r.origin.now()
	if err := node.Start(); err != nil {
		return during, err
	}
	if err := child.AwaitURL(ctx, node.API+"/readyz", node.Process); err != nil {
		return during, err
	}
	r.setDead(node, false)
	return r.passed(ctx, during, wait)
}

func (r *run) passed(ctx context.Context, during span, wait time.Duration) (span, error) {
	pause(ctx, wait-(r.origin.now()-during.from))
	during.to = r.origin.now()
	for _, node := range r.living() {
		if err := node.Alive(); err != nil {
			return during, err
		}
	}
	return during, ctx.Err()
}

// folderOf is a folder of its own for a cluster.
func folderOf(folder string, nodes int) string {
	return filepath.Join(folder, fmt.Sprintf("of-%d", nodes))
}
