//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/arrival"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// run is one seed: a cluster of its own with all that surrounds it.
type run struct {
	out      io.Writer
	seed     uint64
	kinds    []string // of faults
	folder   string
	again    string // the command that runs the seed again
	recorder *witness.Recorder
	cluster  *cluster.Cluster
	fleet    *fleet
	origin   *witness.Origin
	stillURL string // what the addresses of channels that never change begin with
	polls    *arrival.Log
	sink     *witness.Sink
	client   *witness.Client
	workload *witness.Workload
	ledger   *ledger
	shared   *shared
	faults   []*fault
	asking   [2]witness.Instant // from when to when clients of the ledger ask
	running  sync.WaitGroup
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
	betweenMost   = 3 * time.Second // from the end of a fault to the next
	betweenLong   = 8 * time.Second // from the beginning of a fault to the next, in a long run
	faultsAtOnce  = 3               // in a long run
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
	r := &run{out: os.Stdout, seed: seed, kinds: o.kinds, folder: folder, again: o.again(seed), recorder: witness.NewRecorder()}
	r.polls = arrival.NewLog(r.recorder.Began)
	r.recorder.With(func(h *witness.History) { h.Several = true })
	fmt.Fprintf(r.out, "seed %d: %s of %s\n", seed, o.length(), strings.Join(o.kinds, ", "))
	err := r.withNodes(ctx, o, program)
	if err := sum.add(r, err, o.out); err != nil {
		return err
	}
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
	other := o.against
	if o.from != "" {
		program, other = o.from, program
	}
	r.cluster, err = cluster.New(ctx, cluster.Config{Program: program, Folder: r.folder, Args: nodeArgs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	r.fleet = newFleet(r.cluster.Nodes, program, other, o.from != "")
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
	r.asking = [2]witness.Instant{r.recorder.Now(), math.MaxInt64}
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cease()
	asked.Go(func() { r.ledger.work(asking, r.seed) })
	asked.Go(func() { r.shared.work(asking) })
	if slices.ContainsFunc(r.kinds, ofPlacement) {
		asked.Go(func() { r.watchLeaders(asking) })
	}
	if err := newNemesis(r, o).inflict(ctx, o); err != nil {
		return err
	}
	witness.Pause(ctx, time.Second)
	r.asking[1] = r.recorder.Now()
	cease()
	asked.Wait()
	if err := r.wellAgain(ctx, r.recorder.Now()); err != nil {
		return err
	}
	if err := r.judge(ctx); err != nil {
		return err
	}
	stop()
	r.running.Wait()
	return r.sameStates(ctx)
}

// serve starts the origin and the sink, and makes the clients.
func (r *run) serve(ctx context.Context) error {
	anyPort := net.JoinHostPort(cluster.Host, "0")
	ofOrigin, err := arrival.Listen(ctx, anyPort)
	if err != nil {
		return err
	}
	noted := func(p loadgen.Poll) { r.polls.Add(p.From.String(), r.origin.URL(p.Channel), p.Arrived) }
	if r.origin, err = witness.NewOrigin(ofOrigin, r.recorder, witness.AnchoredMost, witness.PassingChannels, r.seed, noted); err != nil {
		return err
	}
	ofStill, err := arrival.Listen(ctx, anyPort)
	if err != nil {
		return err
	}
	r.stillURL = "http://" + ofStill.Addr().String() + "/"
	still := &http.Server{Handler: r.polls.Around(http.HandlerFunc(serveStill)), ConnContext: arrival.WithConn, ReadHeaderTimeout: time.Minute}
	if r.sink, err = witness.NewSink(ctx, anyPort, r.recorder, r.origin, r.seed); err != nil {
		return err
	}
	for _, run := range []func(context.Context) error{r.origin.Run, r.sink.Serve} {
		r.running.Go(func() {
			if err := run(ctx); err != nil {
				fmt.Fprintln(r.out, err)
			}
		})
	}
	r.serveHTTP(ctx, still, ofStill)
	r.client = witness.NewClient(r.recorder)
	r.client.Within(answerWithin)
	r.workload = witness.NewWorkload(r.client, r.origin, r.sink, r.seed)
	r.workload.Actors = actors
	r.ledger = &ledger{run: r, clients: ledgerClients, hasty: witness.NewClient(r.recorder), tidy: slices.ContainsFunc(r.kinds, ofPlacement)}
	r.ledger.hasty.Within(hastyWithin)
	r.known()
	return nil
}

// known has clients ask the nodes of the cluster, as a load balancer would.
func (r *run) known() {
	members := r.fleet.members()
	bases := make([]witness.Base, len(members))
	for i, node := range members {
		bases[i] = baseOf(node)
	}
	r.client.Ask(bases...)
	r.ledger.hasty.Ask(bases...)
}

func baseOf(node *cluster.Node) witness.Base { return witness.Base{Node: node.Index, URL: node.API} }

// watchLeaders notes whenever another node leads a range than at the look before at the same node,
// until the context ends: while replicas move, leaders change long after what set that off.
func (r *run) watchLeaders(ctx context.Context) {
	type seen struct { // each node says what it knows
		by string
		of uint32
	}
	before := make(map[seen]string)
	for n := 0; ctx.Err() == nil; n++ {
		witness.Pause(ctx, watchEvery)
		members := r.fleet.members()
		node := members[n%len(members)]
		status, err := node.Status(ctx)
		if err != nil {
			continue
		}
		changed := false
		for _, of := range status.Cluster.Ranges {
			at := seen{node.Name, of.ID}
			changed = changed || before[at] != of.Leader
			before[at] = of.Leader
		}
		if changed {
			r.turn()
		}
	}
}

const watchEvery = 500 * time.Millisecond

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

// judge waits until everything has arrived, and checks all rules.
func (r *run) judge(ctx context.Context) error {
	r.workload.Gate.Lock()
	defer r.workload.Gate.Unlock()
	r.origin.Freeze(true)
	r.ledger.close(ctx)
	if err := errors.Join(r.shared.mend(ctx), r.settle(ctx)); err != nil {
		return err
	}
	return errors.Join(r.linearizable(), r.politely(), r.answered())
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
// the last fault; and that the cluster is whole, where nodes come and go.
func (r *run) wellAgain(ctx context.Context, healed witness.Instant) error {
	members := r.fleet.members()
	for _, node := range members {
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
	for _, node := range members {
		targets, err := r.inEachRange(ctx, node)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if err := r.writes(ctx, node, target, healed); err != nil {
				return fmt.Errorf("at %s: %w", node.Name, err)
			}
		}
	}
	fmt.Fprintf(r.out, "%8s  every node takes writes for every range, %s after the last fault\n",
		r.recorder.Now().Round(10*time.Millisecond), (r.recorder.Now() - healed).Round(10*time.Millisecond))
	for lacks := r.fleet.whole(ctx); lacks != nil; lacks = r.fleet.whole(ctx) {
		if err := errors.Join(ctx.Err(), r.alive()); err != nil {
			return err
		}
		if r.recorder.Now()-healed > wholeWithin {
			return fmt.Errorf("%w: %s: not %s after the last fault: %w", errViolated, rulePlaced, wholeWithin, lacks)
		}
		witness.Pause(ctx, wholePause)
	}
	if known, err := members[0].Nodes(ctx); err == nil { // after an upgrade a newer version than at first
		fmt.Fprintf(r.out, "          the state machine is at version %d\n", known.StateMachine)
	}
	return nil
}

// inEachRange returns the number of a new channel in each range, for the writes of one
// node.
func (r *run) inEachRange(ctx context.Context, node *cluster.Node) (numbers []int, err error) {
	status, err := node.Status(ctx)
	for begun := r.recorder.Now(); err != nil; status, err = node.Status(ctx) {
		if ctx.Err() != nil || r.recorder.Now()-begun > stuckAfter {
			return nil, fmt.Errorf("%w: status after the last fault: %w", errViolated, err)
		}
		witness.Pause(ctx, wholePause)
	}
	for _, of := range status.Cluster.Ranges {
		url, id := cluster.ChannelIn(of, fmt.Sprintf("%sat-%s-", r.stillURL, node.Name))
		r.recorder.With(func(h *witness.History) {
			numbers = append(numbers, len(h.Channels))
			h.Channels = append(h.Channels, &witness.ChannelRecord{Number: len(h.Channels), URL: url, ID: id})
		})
	}
	return numbers, nil
}

// writes subscribes at a node until that is acknowledged.
func (r *run) writes(ctx context.Context, node *cluster.Node, target int, healed witness.Instant) error {
	record, client := r.workload.Wish(target, true), r.client.At(baseOf(node), answerWithin)
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
