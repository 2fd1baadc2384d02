//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/scrape"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
)

const (
	streams        = 2                // batches to each node at a time
	balancedWithin = 3 * time.Minute  // a node gives back one range in five seconds
	appliedWithin  = time.Minute      // followers are some entries behind
	profileAfter   = 5 * time.Second  // of load
	profileFor     = 30 * time.Second // of each node, at the same time
)

// clusterResult is what the scenario found. Processor times are what count on a machine
// that is shared.
type clusterResult struct {
	Nodes         int                  `json:"nodes"`
	Channels      int                  `json:"channels"`
	Subscriptions int                  `json:"subscriptions"`
	Keys          bool                 `json:"keys"`
	Leads         map[string]int       `json:"ranges_led"` // by node, at the beginning
	Seconds       float64              `json:"seconds"`    // from the first line to the last answer
	PerS          float64              `json:"subscriptions_per_s"`
	Us            float64              `json:"us_per_line"` // of the processor, all nodes and the client
	NodesUs       float64              `json:"nodes_us_per_line"`
	ClientUs      float64              `json:"client_us_per_line"`
	Node          map[string]nodeShare `json:"node"`
	Elections     float64              `json:"elections"`
	Refused       int                  `json:"refused"`         // for now, and sent again
	Largest       uint64               `json:"largest_channel"` // subscriptions of the most popular one
}

// nodeShare is what one node took, with the lines of all nodes as the divisor.
type nodeShare struct {
	Us       float64 `json:"us_per_line"`
	Bytes    float64 `json:"written_bytes_per_line"`
	Resident int64   `json:"resident_bytes"`
}

// bulk is a scenario of several nodes.
type bulk struct {
	options
	cluster  *cluster.Cluster
	order    []uint32 // the channel of each subscription, in the order in which they are asked for
	wanted   []uint32 // subscriptions of each channel
	answered atomic.Int64
	refused  []atomic.Uint32 // lines of each channel, that were sent again
}

func runCluster(ctx context.Context, o options, program, folder string) (r clusterResult, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.within, fmt.Errorf("not done within %s", o.within))
	defer cancel()
	c, err := cluster.New(ctx, cluster.Config{Nodes: o.nodes, Program: program, Folder: folder,
		Args: []string{"--interval", "5h", "--host-gap", "1h"}}) // each address has one poll, and nothing listens there
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Start(ctx); err != nil {
		return r, err
	}
	b := &bulk{options: o, cluster: c, wanted: shares(o.subscriptions, o.channels), refused: make([]atomic.Uint32, o.channels)}
	b.order = shuffled(b.wanted)
	r = clusterResult{Nodes: o.nodes, Channels: o.channels, Subscriptions: o.subscriptions, Keys: o.keys, Largest: uint64(b.wanted[0])}
	if r.Leads, err = b.awaitLeads(ctx); err != nil {
		return r, err
	}
	if err := b.measure(ctx, &r); err != nil {
		return r, errors.Join(err, context.Cause(ctx))
	}
	return r, b.verify(ctx, &r)
}

// awaitLeads waits until each node leads its share of the ranges, or until it has had
// the time for that: then no range is handed over under load.
func (b *bulk) awaitLeads(ctx context.Context) (leads map[string]int, err error) {
	begun := time.Now()
	err = child.Await(ctx, "leaders of all ranges", 2*balancedWithin, func() (bool, error) {
		status, err := b.cluster.Nodes[0].Status(ctx)
		if err != nil {
			return false, nil // not yet
		}
		leads = make(map[string]int)
		for _, each := range status.Cluster.Ranges {
			leads[each.Leader]++
		}
		least := len(status.Cluster.Ranges) / len(b.cluster.Nodes)
		for _, node := range b.cluster.Nodes {
			if leads[node.Name] < least && time.Since(begun) < balancedWithin {
				return false, nil
			}
		}
		return leads[""] == 0, nil
	}, b.cluster.Nodes[0].Process)
	return leads, err
}

// measure makes the subscriptions.
func (b *bulk) measure(ctx context.Context, r *clusterResult) error {
	before, err := b.spent(ctx)
	if err != nil {
		return err
	}
	var others sync.WaitGroup
	loaded, stop := context.WithCancel(ctx)
	others.Go(func() { b.progress(loaded) })
	profiled := make(chan error, 1)
	others.Go(func() { profiled <- b.profile(loaded) })
	begun := time.Now()
	err = b.load(ctx)
	took := time.Since(begun)
	stop()
	others.Wait()
	if err != nil {
		return err
	}
	after, err := b.spent(ctx)
	if err != nil {
		return err
	}
	r.Seconds, r.PerS = took.Seconds(), float64(b.subscriptions)/took.Seconds()
	r.ClientUs = b.perLine(after.client - before.client)
	r.Elections = after.elections - before.elections
	r.Node = make(map[string]nodeShare)
	for i, node := range b.cluster.Nodes {
		share := nodeShare{Us: b.perLine(after.nodes[i] - before.nodes[i]), Bytes: float64(after.written[i]-before.written[i]) / float64(b.subscriptions)}
		if share.Resident, err = process.Resident(node.PID()); err != nil {
			return err
		}
		r.Node[node.Name] = share
		r.NodesUs += share.Us
	}
	r.Us = r.NodesUs + r.ClientUs
	return <-profiled
}

// perLine is a time's share of a subscription, in microseconds.
func (b *bulk) perLine(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(b.subscriptions)
}

// spent is what has been used since the beginning.
type spent struct {
	client    time.Duration
	nodes     []time.Duration
	written   []int64
	elections float64
}

func (b *bulk) spent(ctx context.Context) (s spent, err error) {
	for _, node := range b.cluster.Nodes {
		processor, err := process.CPUTime(node.PID())
		if err != nil {
			return s, err
		}
		written, err := process.Written(node.PID())
		if err != nil {
			return s, err
		}
		metrics, err := scrape.Read(ctx, node.API)
		if err != nil {
			return s, err
		}
		s.nodes, s.written = append(s.nodes, processor), append(s.written, written)
		s.elections += metrics.Sum("corona_ownership_elections_won_total")
	}
	var used syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	s.client = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return s, err
}

// load sends all lines, by several batches to each node, and returns when each has been
// answered with a subscription.
func (b *bulk) load(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := streams * len(b.cluster.Nodes)
	errs := make(chan error, all)
	for stream := range all {
		lines := make([]int, 0, len(b.order)/all+1)
		for i := stream; i < len(b.order); i += all {
			lines = append(lines, i)
		}
		go func() { errs <- b.send(ctx, b.cluster.Nodes[stream%len(b.cluster.Nodes)], lines) }()
	}
	var err error
	for range all {
		if one := <-errs; one != nil && err == nil {
			err = one
			cancel()
		}
	}
	return err
}

// send makes subscriptions at one node, and asks again for what it refuses for now.
func (b *bulk) send(ctx context.Context, node *cluster.Node, lines []int) error {
	client, err := api.NewClient(node.API, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	for len(lines) > 0 {
		var refused []int
		at := 0
		for result, err := range client.Batch(ctx, b.requests(lines)) {
			if err != nil {
				return fmt.Errorf("%s: %w", node.Name, err)
			}
			switch {
			case result.Error == nil:
				b.answered.Add(1)
			case result.Error.Retryable:
				refused = append(refused, lines[at])
				b.refused[b.order[lines[at]]].Add(1)
			default:
				return fmt.Errorf("%s: a line was refused: %w", node.Name, result.Error)
			}
			at++
		}
		lines = refused
	}
	return nil
}

func (b *bulk) requests(lines []int) iter.Seq[api.SubscribeRequest] {
	return func(yield func(api.SubscribeRequest) bool) {
		request := api.SubscribeRequest{Sink: api.Sink{Type: api.SinkSSE}}
		for _, i := range lines {
			request.URL = urlOf(int(b.order[i]))
			if b.keys {
				request.Key = fmt.Sprint("key ", i)
			}
			if !yield(request) {
				return
			}
		}
	}
}

// progress prints how far the load is, until it ends.
func (b *bulk) progress(ctx context.Context) {
	const every = 5 * time.Second
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := b.answered.Load()
			fmt.Fprintf(os.Stderr, "%d of %d, %.0f/s\n", now, b.subscriptions, float64(now-before)/every.Seconds())
			before = now
		}
	}
}

// profile keeps a profile of each node, if there is a folder for them.
func (b *bulk) profile(ctx context.Context) error {
	if b.profiles == "" {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(profileAfter):
	}
	errs := make(chan error, len(b.cluster.Nodes))
	for _, node := range b.cluster.Nodes {
		go func() { errs <- profileNode(ctx, node, filepath.Join(b.profiles, node.Name+".pprof")) }()
	}
	var err error
	for range b.cluster.Nodes {
		err = errors.Join(err, <-errs)
	}
	return err
}

func profileNode(ctx context.Context, node *cluster.Node, file string) error {
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", node.API, int(profileFor.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("profile of %s under load: %w", node.Name, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("profile of %s under load: %w", node.Name, err)
	}
	return os.WriteFile(file, content, 0o644)
}

// verify checks that each channel has the subscriptions that were acknowledged, and that
// all replicas have as many. Without keys, a line that was refused at first, which may
// have made one all the same, counts as one more at most.
func (b *bulk) verify(ctx context.Context, r *clusterResult) error {
	client, err := api.NewClient(b.cluster.Nodes[0].API, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	found := make(map[string]uint64, b.channels)
	for one, err := range client.Channels(ctx) {
		if err != nil {
			return err
		}
		found[one.URL] = one.Subscribers
	}
	if len(found) != b.channels {
		return fmt.Errorf("%d channels, want %d", len(found), b.channels)
	}
	all := uint64(0)
	for i, want := range b.wanted {
		got, refused := found[urlOf(i)], b.refused[i].Load()
		all, r.Refused = all+got, r.Refused+int(refused)
		if b.keys {
			refused = 0
		}
		if got < uint64(want) || got > uint64(want+refused) {
			return fmt.Errorf("%s has %d subscribers, want %d to %d", urlOf(i), got, want, want+refused)
		}
	}
	for _, node := range b.cluster.Nodes {
		err := child.Await(ctx, fmt.Sprintf("%d subscriptions at %s", all, node.Name), appliedWithin, func() (bool, error) {
			metrics, err := scrape.Read(ctx, node.API)
			return metrics.Sum("corona_ownership_subscriptions") == float64(all), err
		}, node.Process)
		if err != nil {
			return err
		}
	}
	return nil
}
