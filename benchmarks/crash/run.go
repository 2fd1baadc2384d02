package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// options are what the command line says.
type options struct {
	kills    int
	kinds    []string // of rounds
	seed     uint64
	duration time.Duration
	keep     bool
	program  string // empty: built from this module
}

// run is one run of the test.
type run struct {
	options
	out      io.Writer
	random   *rand.Rand
	recorder *witness.Recorder
	origin   *witness.Origin
	client   *witness.Client
	workload *witness.Workload
	node     *node
	started  witness.Instant // when the process began that runs now
	served   bool            // it has been ready
	ranges   int             // that the node was asked for; 0: none
	killed   int             // rounds
	early    int             // those that ended, or had their fault, before the process served
	slowest  time.Duration
	running  sync.WaitGroup
}

// errViolated is a rule that does not hold.
var errViolated = errors.New("violated")

const (
	checkEvery  = 10               // kills
	readyWithin = 30 * time.Second // of a start on what a killed process left
	settleTime  = 90 * time.Second // until everything must have arrived
	settlePause = 300 * time.Millisecond
	readyPause  = 10 * time.Millisecond
	afterMoment = 3 * time.Millisecond // mean
)

// execute runs the test in a folder of its own. The error wraps errViolated when
// a rule does not hold; then, and on request, the folder stays.
func execute(ctx context.Context, o options, out io.Writer) error {
	folder, err := os.MkdirTemp("", "corona-crash-")
	if err != nil {
		return err
	}
	r := &run{options: o, out: out, random: rand.New(rand.NewPCG(o.seed, 0)), recorder: witness.NewRecorder()}
	fmt.Fprintf(out, "seed %d: %d rounds of %s; data and log of the node in %s\n", o.seed, o.kills, strings.Join(o.kinds, ", "), folder)
	err = r.onDisk(ctx, folder)
	if err != nil || o.keep {
		r.explain(err, folder)
		fmt.Fprintln(out, "kept", folder)
		return err
	}
	return os.RemoveAll(folder)
}

// onDisk gives the data a small disk if it is to be filled up.
func (r *run) onDisk(ctx context.Context, folder string) (err error) {
	if !slices.Contains(r.kinds, witness.KindFull) {
		return errors.Join(makeDisk(ctx, folder, 0), r.inFolder(ctx, folder))
	}
	if err := makeDisk(ctx, folder, smallDisk); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, takeDisk(folder, err != nil || r.keep)) }()
	return r.inFolder(ctx, folder)
}

// inFolder sets up node, origin, sink and clients, and takes them down.
func (r *run) inFolder(ctx context.Context, folder string) (err error) {
	if r.node, err = newNode(ctx, folder, r.program); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.node.Close()) }()
	living, stop := context.WithCancel(ctx)
	defer r.running.Wait()
	defer stop()
	if err := r.serve(living); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.running.Go(func() { r.workload.Run(living) })
	if err := r.killAll(ctx); err != nil {
		return err
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	r.report()
	return nil
}

const anyPort = "127.0.0.1:0"

// serve starts the origin and the sink.
func (r *run) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", anyPort)
	if err != nil {
		return err
	}
	if r.origin, err = witness.NewOrigin(listener, r.recorder, witness.AnchoredMost, witness.PassingChannels, r.seed, nil); err != nil {
		return err
	}
	sink, err := witness.NewSink(ctx, anyPort, r.recorder, r.origin, r.seed)
	if err != nil {
		return err
	}
	for _, run := range []func(context.Context) error{r.origin.Run, sink.Serve} {
		r.running.Go(func() {
			if err := run(ctx); err != nil {
				fmt.Fprintln(r.out, err)
			}
		})
	}
	r.client = witness.NewClient(r.recorder, "http://"+r.node.address)
	r.workload = witness.NewWorkload(r.client, r.origin, sink, r.seed)
	return nil
}

// begin starts the first process and subscribes the first anchors.
func (r *run) begin(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	for range witness.FirstAnchored {
		r.workload.Anchor(ctx)
	}
	return ctx.Err()
}

func (r *run) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.started, r.served = r.recorder.Now(), false
	return r.node.Start()
}

// ready waits until the process serves.
func (r *run) ready(ctx context.Context) error {
	for from := r.recorder.Now(); !r.client.Ready(ctx); {
		if err := errors.Join(ctx.Err(), r.node.Alive()); err != nil {
			return err
		}
		if took := r.recorder.Now() - from; took > readyWithin {
			return fmt.Errorf("%w: not ready for %s", errViolated, took)
		}
		witness.Pause(ctx, readyPause)
	}
	if !r.served {
		r.served, r.slowest = true, max(r.slowest, r.recorder.Now()-r.started)
	}
	return nil
}

// killAll ends and restarts the node in one way after the other, and checks its
// state now and then. It stops early, without an error, when the time is over.
func (r *run) killAll(ctx context.Context) error {
	rounds := deck{random: r.random, kinds: r.kinds}
	for r.killed < r.kills && r.recorder.Now() < r.duration {
		if err := r.round(ctx, rounds.deal()); err != nil {
			return err
		}
		r.killed++
		if err := r.start(ctx); err != nil {
			return err
		}
		if r.killed%checkEvery == 0 {
			if err := r.check(ctx); err != nil {
				return err
			}
			fmt.Fprintf(r.out, "%d rounds, %s: every rule holds\n", r.killed, r.recorder.Now().Round(time.Second))
		}
	}
	return nil
}

// check stops all change and all requests, waits until everything has arrived,
// and judges the whole state.
func (r *run) check(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	if err := r.areSplit(ctx); err != nil {
		return err
	}
	r.workload.Gate.Lock()
	defer r.workload.Gate.Unlock()
	r.origin.Freeze(true)
	defer r.origin.Freeze(false)
	for deadline := r.recorder.Now() + settleTime; ; witness.Pause(ctx, settlePause) {
		violations, err := r.judge(ctx)
		if err := errors.Join(err, ctx.Err(), r.node.Alive()); err != nil {
			return err
		}
		if len(violations) == 0 {
			return nil
		}
		if witness.Final(violations) || r.recorder.Now() > deadline {
			return r.tell(violations)
		}
	}
}

// judge takes the state by the API and checks it against the history.
func (r *run) judge(ctx context.Context) (violations []witness.Violation, err error) {
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
		if snapshot.Channels[record.ID].Version > 0 {
			r.origin.FirstSeen(record.Number, r.recorder.Now())
		}
	}
	return witness.Check(r.recorder.Copy(), snapshot), nil
}

// tell prints what was violated and returns an error.
func (r *run) tell(violations []witness.Violation) error {
	told := r.recorder.Tell(r.out, violations)
	return fmt.Errorf("%w: %d times, after %d rounds, seed %d", errViolated, told, r.killed, r.seed)
}

// end checks the state, stops the process in order, and checks again what the
// next one finds.
func (r *run) end(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.stop(); err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	return r.stop()
}

func (r *run) stop() error {
	if err := r.node.Stop(); err != nil {
		return fmt.Errorf("%w: %w", errViolated, err)
	}
	return r.ended()
}
