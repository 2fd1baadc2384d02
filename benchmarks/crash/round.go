package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// round takes a process from any instant to its end.
func (r *run) round(ctx context.Context, kind string) error {
	if err := r.awaitMoment(ctx); err != nil {
		return err
	}
	fault, fail := &witness.Fault{Kind: kind}, r.traced
	switch kind {
	case witness.KindKill:
		return r.kill(ctx)
	case witness.KindFull:
		fail = r.full
	}
	if err := fail(ctx, fault); err != nil || fault.Ended > 0 {
		return err
	}
	return r.afterFault(ctx, fault)
}

// afterFault watches a process whose disk is well again and kills it. What the
// disk did may end the process until StopWithin later: between two looks of this
// test as well as under them.
func (r *run) afterFault(ctx context.Context, fault *witness.Fault) error {
	err := r.watch(ctx, fault)
	if err == nil {
		err = r.kill(ctx)
	}
	at := r.recorder.Now()
	if errors.Is(err, child.ErrEnded) && at <= fault.To+witness.StopWithin {
		return r.endedItself(fault, at)
	}
	return err
}

// awaitMoment waits for an instant to kill at: of a quarter of the lives while
// the process starts, of another at any time, of the rest right after something
// was acknowledged, asked for or delivered.
func (r *run) awaitMoment(ctx context.Context) error {
	kind := r.random.IntN(4)
	if kind == 0 {
		r.early++
		witness.Pause(ctx, witness.UpTo(r.random, 400*time.Millisecond))
		return nil
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	if r.random.IntN(4) == 0 {
		if err := r.split(ctx); err != nil {
			return err
		}
	}
	if kind == 1 {
		witness.Pause(ctx, witness.UpTo(r.random, 3*time.Second))
		return nil
	}
	witness.Pause(ctx, witness.UpTo(r.random, time.Second))
	r.recorder.Await(ctx, witness.Moment(r.random.IntN(int(witness.Moments))), time.Second)
	witness.Pause(ctx, time.Duration(r.random.ExpFloat64()*float64(afterMoment)))
	return nil
}

// How many ranges the node begins with, a split adds, and there are at most.
const (
	rangesFirst = 16
	rangesMore  = 4
	rangesMost  = 256
)

// split has some ranges split, which takes as long as it takes: the process may end meanwhile,
// and the next one goes on.
func (r *run) split(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, splitWithin)
	defer cancel()
	r.ranges = min(max(r.ranges, rangesFirst)+rangesMore, rangesMost)
	if err := r.node.api.SplitRanges(ctx, r.ranges); err != nil {
		return fmt.Errorf("%w: %s: %w", errViolated, ruleSplit, err)
	}
	return nil
}

// splitWithin bounds how long the node takes to decide that ranges are split, and then to split
// them.
const splitWithin = 10 * time.Second

const ruleSplit = "ranges are split as asked, over the ends of processes"

// areSplit waits until there are as many ranges as were asked for.
func (r *run) areSplit(ctx context.Context) error {
	for from := r.recorder.Now(); ; witness.Pause(ctx, settlePause) {
		nodes, err := r.node.api.Nodes(ctx)
		switch {
		case err == nil && nodes.Ranges >= r.ranges:
			return nil
		case err == nil:
			err = fmt.Errorf("%d of %d", nodes.Ranges, r.ranges)
		}
		if ended := errors.Join(ctx.Err(), r.node.Alive()); ended != nil {
			return ended
		}
		if r.recorder.Now()-from > splitWithin {
			return fmt.Errorf("%w: %s: after %s: %w", errViolated, ruleSplit, splitWithin, err)
		}
	}
}

// kill ends the process, which must live.
func (r *run) kill(ctx context.Context) error {
	if err := errors.Join(r.node.Kill(), ctx.Err()); err != nil {
		return err
	}
	return r.ended()
}

// ended notes that the process has ended, and whether it printed a stack.
func (r *run) ended() error {
	at := r.recorder.Now()
	r.origin.Rest(at)
	stacks, err := witness.Stacks(r.node.Process)
	if err != nil {
		return err
	}
	r.recorder.With(func(h *witness.History) { h.Ends, h.Stacks = append(h.Ends, at), append(h.Stacks, stacks...) })
	return nil
}

// exitWithin is how long what has ended may take to be seen.
const exitWithin = 10 * time.Second

// straceLog is strace's log of the last round that had one, in the run's folder.
const straceLog = "strace.log"

// traced lets system calls fail or wait for a time.
func (r *run) traced(ctx context.Context, fault *witness.Fault) error {
	r.fault(fault)
	log := filepath.Join(r.node.folder, straceLog)
	tracer, err := diskfault.Attach(ctx, r.node.PID(), r.node.data, log, witness.Injection(fault.Kind, r.random))
	if err != nil {
		return errors.Join(err, r.node.Alive())
	}
	_, ended := r.node.AwaitEnd(ctx, witness.Hold(fault.Kind, r.random))
	at := r.recorder.Now()
	trace, err := tracer.Detach()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	r.recorder.With(func(h *witness.History) {
		fault.To = r.recorder.Now()
		for _, hit := range trace.Hits {
			fault.Hits = append(fault.Hits, witness.Hit{At: hit.At.Sub(h.Began), Call: hit.Call, Path: hit.Path})
		}
	})
	if !trace.Exited.IsZero() {
		at = trace.Exited.Sub(r.recorder.Began)
		if _, ended = r.node.AwaitEnd(ctx, exitWithin); !ended {
			return fmt.Errorf("the process is said to have ended at %s and lives", trace.Exited)
		}
	}
	if !ended {
		return nil
	}
	return r.endedItself(fault, at)
}

// fault adds a fault to the history.
func (r *run) fault(fault *witness.Fault) {
	r.recorder.With(func(h *witness.History) {
		fault.From = r.recorder.Now()
		h.Faults = append(h.Faults, fault)
	})
}

// endedItself notes the end of a process that was not killed.
func (r *run) endedItself(fault *witness.Fault, at witness.Instant) error {
	said, err := witness.LastWords(r.node.Process)
	if err != nil {
		return err
	}
	code, _ := r.node.Ended()
	r.recorder.With(func(*witness.History) {
		fault.Ended, fault.To, fault.Code, fault.Said = at, min(fault.To, at), code, said
	})
	return r.ended()
}

const (
	// leaveMost is how much of a full disk is free, at most: less than the node
	// wants.
	leaveMost = 1 << 20
	// fullMost bounds how long the disk is full for one process.
	fullMost = 8 * time.Second
)

// full fills the disk for a time, in half of the cases over the end of a process
// and the start of the next one.
func (r *run) full(ctx context.Context, fault *witness.Fault) error {
	filler := diskfault.Filler{Name: filepath.Join(r.node.folder, diskName, "filler")}
	r.fault(fault) // the node may refuse before the last byte is taken
	if err := filler.Fill(r.random.Int64N(leaveMost)); err != nil {
		return err
	}
	r.recorder.With(func(*witness.History) { fault.Full = r.recorder.Now() })
	over := r.random.IntN(2) == 0
	_, ended := r.node.AwaitEnd(ctx, witness.NoticeWithin+witness.UpTo(r.random, fullMost-witness.NoticeWithin))
	if over && !ended && ctx.Err() == nil {
		err := r.kill(ctx)
		if err == nil {
			err = r.start(ctx)
		}
		if err == nil {
			r.node.AwaitEnd(ctx, witness.UpTo(r.random, fullMost))
		}
		if err != nil && !errors.Is(err, child.ErrEnded) { // what ended before the kill is seen below
			return err
		}
	}
	r.recorder.With(func(*witness.History) { fault.To = r.recorder.Now() })
	if err := errors.Join(filler.Free(), ctx.Err()); err != nil {
		return err
	}
	if _, ended = r.node.Ended(); ended {
		return r.endedItself(fault, fault.To)
	}
	return nil
}

// watch leaves a process alone whose disk is well again, in three of four cases,
// until it has acknowledged a subscription.
func (r *run) watch(ctx context.Context, fault *witness.Fault) error {
	if r.random.IntN(4) == 0 {
		return nil
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	for r.recorder.Now() < fault.To+witness.AcceptWithin && !r.accepted(fault.To) {
		if err := errors.Join(r.node.Alive(), ctx.Err()); err != nil {
			return err
		}
		witness.Pause(ctx, witness.RetryPause)
	}
	r.recorder.With(func(*witness.History) { fault.Watched = true })
	return nil
}

// accepted reports whether a subscription was asked for since and acknowledged.
func (r *run) accepted(since witness.Instant) (accepted bool) {
	r.recorder.With(func(h *witness.History) {
		for _, record := range h.Subscribes {
			if acked := record.Acked(); acked != nil && acked.Sent >= since {
				accepted = true
			}
		}
	})
	return accepted
}
