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
	"slices"
	"sync"
	"time"
)

// options are what the command line says.
type options struct {
	kills    int
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
	recorder *recorder
	origin   *origin
	client   *client
	workload *workload
	node     *node
	started  Instant // when the process began that runs now
	served   bool    // it has been ready
	killed   int
	early    int // kills before the process served
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
	r := &run{options: o, out: out, random: rand.New(rand.NewPCG(o.seed, 0)), recorder: newRecorder()}
	fmt.Fprintf(out, "seed %d: %d kills, data and log of the node in %s\n", o.seed, o.kills, folder)
	err = r.inFolder(ctx, folder)
	if err != nil || o.keep {
		fmt.Fprintln(out, "kept", folder)
		return err
	}
	return os.RemoveAll(folder)
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
	r.running.Go(func() { r.workload.run(living) })
	if err := r.killAll(ctx); err != nil {
		return err
	}
	if err := r.end(ctx); err != nil {
		return err
	}
	r.report()
	return nil
}

// serve starts the origin and the sink.
func (r *run) serve(ctx context.Context) error {
	listen := func() (net.Listener, error) { return new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0") }
	ofOrigin, err := listen()
	if err != nil {
		return err
	}
	r.origin = newOrigin(ofOrigin, r.recorder, anchoredMost, passingChannels, r.seed)
	r.serveHTTP(ctx, r.origin.server, ofOrigin)
	r.running.Go(func() { r.origin.run(ctx) })
	ofSink, err := listen()
	if err != nil {
		return err
	}
	sink, err := newSink(ofSink, r.recorder, r.origin, r.seed)
	if err != nil {
		return err
	}
	r.serveHTTP(ctx, sink.server, ofSink)
	r.client = newClient(r.recorder, "http://"+r.node.address)
	r.workload = newWorkload(r.client, r.origin, sink, r.seed)
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

// begin starts the first process and subscribes the first anchors.
func (r *run) begin(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	for range firstAnchored {
		r.workload.anchor(ctx)
	}
	return ctx.Err()
}

func (r *run) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.started, r.served = r.recorder.now(), false
	return r.node.Start()
}

// ready waits until the process serves.
func (r *run) ready(ctx context.Context) error {
	for from := r.recorder.now(); !r.client.ready(ctx); {
		if err := errors.Join(ctx.Err(), r.node.Alive()); err != nil {
			return err
		}
		if took := r.recorder.now() - from; took > readyWithin {
			return fmt.Errorf("%w: not ready for %s; the end of its log:\n%s", errViolated, took, r.node.LogTail())
		}
		pause(ctx, readyPause)
	}
	if !r.served {
		r.served, r.slowest = true, max(r.slowest, r.recorder.now()-r.started)
	}
	return nil
}

// killAll kills and restarts the node, and checks its state now and then. It
// ends early, without an error, when the time is over.
func (r *run) killAll(ctx context.Context) error {
	for r.killed < r.kills && r.recorder.now() < r.duration {
		if err := r.awaitMoment(ctx); err != nil {
			return err
		}
		if err := errors.Join(r.node.Kill(), ctx.Err()); err != nil {
			return err
		}
		killed := r.recorder.now()
		r.origin.rest(killed)
		r.recorder.with(func(h *History) { h.Ends = append(h.Ends, killed) })
		r.killed++
		if err := r.start(ctx); err != nil {
			return err
		}
		if r.killed%checkEvery == 0 {
			if err := r.check(ctx); err != nil {
				return err
			}
			fmt.Fprintf(r.out, "%d kills, %s: every rule holds\n", r.killed, r.recorder.now().Round(time.Second))
		}
	}
	return nil
}

// awaitMoment waits for an instant to kill at: of a quarter of the lives while
// the process starts, of another at any time, of the rest right after something
// was acknowledged, asked for or delivered.
func (r *run) awaitMoment(ctx context.Context) error {
	kind := r.random.IntN(4)
	if kind == 0 {
		r.early++
		pause(ctx, upTo(r.random, 400*time.Millisecond))
		return nil
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	if kind == 1 {
		pause(ctx, upTo(r.random, 3*time.Second))
		return nil
	}
	pause(ctx, upTo(r.random, time.Second))
	r.recorder.await(ctx, moment(r.random.IntN(int(moments))), time.Second)
	pause(ctx, time.Duration(r.random.ExpFloat64()*float64(afterMoment)))
	return nil
}

// check stops all change and all requests, waits until everything has arrived,
// and judges the whole state.
func (r *run) check(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	r.workload.gate.Lock()
	defer r.workload.gate.Unlock()
	r.origin.freeze(true)
	defer r.origin.freeze(false)
	for deadline := r.recorder.now() + settleTime; ; pause(ctx, settlePause) {
		violations, err := r.judge(ctx)
		if err := errors.Join(err, ctx.Err(), r.node.Alive()); err != nil {
			return err
		}
		if len(violations) == 0 {
			return nil
		}
		if final(violations) || r.recorder.now() > deadline {
			return r.tell(violations)
		}
	}
}

// judge takes the state by the API and checks it against the history.
func (r *run) judge(ctx context.Context) (violations []Violation, err error) {
	var channels []*ChannelRecord
	r.recorder.with(func(h *History) { channels = h.Channels })
	snapshot, err := r.client.snapshot(ctx, channels)
	if errors.Is(err, errNoAnswer) {
		return []Violation{{Rule: RuleRefused, Detail: err.Error(), Pending: true}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errViolated, err)
	}
	for _, record := range channels {
		if snapshot.Channels[record.ID].Version > 0 {
			r.origin.firstSeen(record.Number, r.recorder.now())
		}
	}
	r.recorder.with(func(h *History) { violations = Check(h, snapshot) })
	return violations, nil
}

// final reports whether waiting cannot help.
func final(violations []Violation) bool {
	return slices.ContainsFunc(violations, func(v Violation) bool { return !v.Pending })
}

// tell prints violations: if there are any that waiting cannot help, those alone.
func (r *run) tell(violations []Violation) error {
	const most = 20
	if final(violations) {
		violations = slices.DeleteFunc(violations, func(v Violation) bool { return v.Pending })
	}
	for _, violation := range violations[:min(len(violations), most)] {
		fmt.Fprintln(r.out, violation)
	}
	return fmt.Errorf("%w: %d times, after %d kills, seed %d", errViolated, len(violations), r.killed, r.seed)
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
	r.recorder.with(func(h *History) { h.Ends = append(h.Ends, r.recorder.now()) })
	return nil
}

// report prints what the run went through.
func (r *run) report() {
	var c counts
	r.recorder.with(func(h *History) { c = count(h) })
	fmt.Fprintf(r.out, "%d kills, %d of them during the start; slowest start %s; %s in all\n",
		r.killed, r.early, r.slowest.Round(time.Millisecond), r.recorder.now().Round(time.Second))
	fmt.Fprintf(r.out, "subscriptions: %d acknowledged, %d deleted, %d requests cut and repeated or given up\n",
		c.acked, c.deleted, c.cut)
	fmt.Fprintf(r.out, "versions: %d seen; streams: %d events over %d connections\n", c.versions, c.events, c.connections)
	fmt.Fprintf(r.out, "webhooks: %d arrived, %d of them again though answered, %d by the same process; the longest time from answer to kill %s\n",
		c.deliveries, c.repeats, c.needless, c.forgotten.Round(time.Millisecond))
	fmt.Fprintf(r.out, "%d rules hold (seed %d)\n", len(rules), r.seed)
}
