//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/arrival"
)

// run is one seed: a cluster of its own with all that surrounds it.
type run struct {
	out       io.Writer
	seed      uint64
	wanted    int      // faults
	kinds     []string // of faults
	folder    string
	recorder  *witness.Recorder
	cluster   *cluster.Cluster
	origin    *witness.Origin
	originURL string
	polls     *arrival.Log
	sink      *witness.Sink
	client    *witness.Client
	workload  *witness.Workload
	ledger    *ledger
	shared    *shared
	faults    []*fault
	running   sync.WaitGroup
}

// errViolated is a rule that does not hold.
var errViolated = errors.New("violated")

// How the nodes are run: polls as fast as the contract accepts, few ranges, little disk.
const (
	pollFloor = 500 * time.Millisecond
	ranges    = 8
)

var nodeArgs = []string{
	"--interval", "1s", "--floor", pollFloor.String(), "--ranges", fmt.Sprint(ranges),
	"--disk-reserve", fmt.Sprint(64 << 20), "--log-level", "info",
}

const (
	ledgerClients = 40
	actors        = 8
	answerWithin  = 6 * time.Second // 503 is promised within 5 s
	betweenMost   = 3 * time.Second // from a fault to the next
	stuckAfter    = 30 * time.Second
	settleTime    = 90 * time.Second // until everything must have arrived: a sink that failed is asked again after a minute
	settlePause   = 300 * time.Millisecond
	settledWithin = time.Minute // after the start: each range is led by the node that leads it when all is well
)

// runSeed runs one seed in a folder of its own, which stays if a rule does not hold.
func (o *options) runSeed(ctx context.Context, seed uint64, program, folder string, sum *totals) error {
	folder = filepath.Join(folder, fmt.Sprintf("seed-%d", seed))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	r := &run{out: os.Stdout, seed: seed, wanted: o.faults, kinds: o.kinds, folder: folder, recorder: witness.NewRecorder()}
	r.polls = arrival.NewLog(r.recorder.Began)
	r.recorder.With(func(h *witness.History) { h.Several = true })
	fmt.Fprintf(r.out, "seed %d: %d faults of %s\n", seed, o.faults, strings.Join(o.kinds, ", "))
	err := r.withNodes(ctx, o, program)
	sum.add(r, err)
	if err != nil {
		r.explain(err)
		return err
	}
	if o.keep {
		return nil
	}
	return os.RemoveAll(folder)
}

// withNodes sets up nodes, origin, sink and clients, and takes them down.
func (r *run) withNodes(ctx context.Context, o *options, program string) (err error) {
	r.cluster, err = cluster.New(ctx, cluster.Config{Program: program, Folder: r.folder, Args: nodeArgs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	living, stop := context.WithCancel(ctx)
	defer r.running.Wait()
	defer stop()
	if err := r.serve(living); err != nil {
		return err
	}
	if err := r.cluster.Start(ctx); err != nil {
		return err
	}
	for range witness.FirstAnchored {
		r.workload.Anchor(ctx)
	}
	r.shared = newShared(ctx, r)
	r.running.Go(func() { r.workload.Run(living) })
	if err := r.cluster.Settled(ctx, settledWithin); err != nil {
		return err
	}
	r.shared.calm(ctx)
	asking, cease := context.WithCancel(living)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cease()
	asked.Go(func() { r.ledger.work(asking, r.seed) })
	asked.Go(func() { r.shared.work(asking) })
	if err := r.inflict(ctx, o); err != nil {
		return err
	}
	witness.Pause(ctx, time.Second)
	cease()
	asked.Wait()
	return r.judge(ctx)
}

// serve starts the origin and the sink, and makes the clients.
func (r *run) serve(ctx context.Context) error {
	ofOrigin, err := arrival.Listen(ctx, net.JoinHostPort(cluster.Host, "0"))
	if err != nil {
		return err
	}
	r.originURL = "http://" + ofOrigin.Addr().String()
	r.origin = witness.NewOrigin(ofOrigin, r.recorder, witness.AnchoredMost, witness.PassingChannels, r.seed)
	r.origin.Server.Handler, r.origin.Server.ConnContext = r.polls.Around(withStill(r.origin)), arrival.WithConn
	r.serveHTTP(ctx, r.origin.Server, ofOrigin)
	r.running.Go(func() { r.origin.Run(ctx) })
	ofSink, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(cluster.Host, "0"))
	if err != nil {
		return err
	}
	if r.sink, err = witness.NewSink(ofSink, r.recorder, r.origin, r.seed); err != nil {
		return err
	}
	r.serveHTTP(ctx, r.sink.Server, ofSink)
	bases := make([]string, len(r.cluster.Nodes))
	for i, node := range r.cluster.Nodes {
		bases[i] = node.API
	}
	r.client = witness.NewClient(r.recorder, bases...)
	r.client.Within(answerWithin)
	r.workload = witness.NewWorkload(r.client, r.origin, r.sink, r.seed)
	r.workload.Actors = actors
	r.ledger = &ledger{run: r, clients: ledgerClients, hasty: witness.NewClient(r.recorder, bases...)}
	r.ledger.hasty.Within(hastyWithin)
	return nil
}

// serveHTTP serves until the context ends.
func (r *run) serveHTTP(ctx context.Context, server *http.Server, listener net.Listener) {
	r.running.Go(func() {
		_ = server.Serve(listener) // always ErrServerClosed: nothing else ends it here
	})
	r.running.Go(func() {
		<-ctx.Done()
		_ = server.Close() // its listener has nothing to lose
	})
}

// inflict lets one fault happen after the other, until there were enough or the time is
// over.
func (r *run) inflict(ctx context.Context, o *options) error {
	n := &nemesis{run: r, random: rand.New(rand.NewPCG(r.seed, 0))}
	for len(r.faults) < o.faults && r.recorder.Now() < o.time {
		witness.Pause(ctx, time.Second+witness.UpTo(n.random, betweenMost-time.Second))
		if err := r.alive(); err != nil {
			return err
		}
		if err := n.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judge waits until the nodes are well again and everything has arrived, and checks all
// rules.
func (r *run) judge(ctx context.Context) error {
	healed := r.recorder.Now()
	if err := r.wellAgain(ctx, healed); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%8s  every node takes writes for every range, %s after the last fault\n",
		r.recorder.Now().Round(10*time.Millisecond), (r.recorder.Now() - healed).Round(10*time.Millisecond))
	r.workload.Gate.Lock()
	defer r.workload.Gate.Unlock()
	r.origin.Freeze(true)
	r.ledger.close(ctx)
	r.shared.mend(ctx)
	if err := r.settle(ctx); err != nil {
		return err
	}
	return errors.Join(r.linearizable(), r.politely())
}

// settle checks the witnesses' rules until all hold or waiting cannot help.
func (r *run) settle(ctx context.Context) error {
	for deadline := r.recorder.Now() + settleTime; ; witness.Pause(ctx, settlePause) {
		violations, err := r.check(ctx)
		if err := errors.Join(err, ctx.Err(), r.alive()); err != nil {
			return err
		}
		if len(violations) == 0 {
			return nil
		}
		if witness.Final(violations) || r.recorder.Now() > deadline {
			return fmt.Errorf("%w: %d times", errViolated, r.recorder.Tell(r.out, violations))
		}
	}
}

// check takes the state by the API, each page from another node, and checks it against
// the history.
func (r *run) check(ctx context.Context) (violations []witness.Violation, err error) {
	var channels []*witness.ChannelRecord
	r.recorder.With(func(h *witness.History) { channels = h.Channels })
	snapshot, err := r.client.Snapshot(ctx, channels)
	if errors.Is(err, witness.ErrNoAnswer) {
		return []witness.Violation{{Rule: witness.RuleRefused, Detail: err.Error(), Pending: true}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errViolated, err)
	}
	for _, record := range channels {
		if record.Anchored && snapshot.Channels[record.ID].Version > 0 {
			r.origin.FirstSeen(record.Number, r.recorder.Now())
		}
	}
	return witness.Check(r.recorder.Copy(), snapshot), nil
}

// wellAgain holds that each node serves, and takes a write for each range, in time after
// the last fault.
func (r *run) wellAgain(ctx context.Context, healed witness.Instant) error {
	for _, node := range r.cluster.Nodes {
		for !node.Ready(ctx) {
			if err := errors.Join(ctx.Err(), r.alive()); err != nil {
				return err
			}
			if r.recorder.Now()-healed > stuckAfter {
				return fmt.Errorf("%w: %s is not ready %s after the last fault", errViolated, node.Name, stuckAfter)
			}
			witness.Pause(ctx, witness.RetryPause)
		}
	}
	for i, node := range r.cluster.Nodes {
		targets, err := r.inEachRange(ctx, node)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if err := r.writes(ctx, i, target, healed); err != nil {
				return fmt.Errorf("at %s: %w", node.Name, err)
			}
		}
	}
	return nil
}

// inEachRange returns the number of a new channel in each range, for the writes of one
// node.
func (r *run) inEachRange(ctx context.Context, node *cluster.Node) (numbers []int, err error) {
	status, err := node.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: status after the last fault: %w", errViolated, err)
	}
	for _, of := range status.Cluster.Ranges {
		url, id := cluster.ChannelIn(of, fmt.Sprintf("%s%sat-%s-", r.originURL, stillPath, node.Name))
		r.recorder.With(func(h *witness.History) {
			numbers = append(numbers, len(h.Channels))
			h.Channels = append(h.Channels, &witness.ChannelRecord{Number: len(h.Channels), URL: url, ID: id})
		})
	}
	return numbers, nil
}

// writes subscribes at a node until that is acknowledged.
func (r *run) writes(ctx context.Context, node, target int, healed witness.Instant) error {
	record, client := r.workload.Wish(target, true), r.client.At(node, answerWithin)
	for client.Subscribe(ctx, record).Outcome != witness.Acked {
		if err := errors.Join(ctx.Err(), r.alive()); err != nil {
			return err
		}
		if r.recorder.Now()-healed > stuckAfter {
			return fmt.Errorf("%w: no write for %s %s after the last fault", errViolated, record.Sink.URL, stuckAfter)
		}
		witness.Pause(ctx, witness.RetryPause)
	}
	return nil
}
