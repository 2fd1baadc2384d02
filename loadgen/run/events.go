package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// events lets each event happen when its time has come, whatever became of those before:
// what takes time runs beside, crowds and those that leave one after the other. An event that
// fails is noted, and the run goes on, unless a node had ended by itself.
func (r *run) events(ctx context.Context, begin time.Time) (err error) {
	var running sync.WaitGroup
	crowds := make(chan struct{})
	close(crowds)
	happened, failed := make([]result.Event, len(r.Scenario.Events)), make([]error, len(r.Scenario.Events))
	for i, e := range r.Scenario.Events {
		at := begin.Add(e.At)
		if err = pause(ctx, at); err != nil {
			happened = happened[:i]
			break
		}
		happened[i] = result.Event{AtS: e.At.Seconds(), What: describe(e)}
		do := func() {
			defer r.follower.happened(i, time.Now())
			if failed[i] = r.happen(ctx, e, at); failed[i] != nil {
				happened[i].Err = failed[i].Error()
			}
			happened[i].TookS = time.Since(at).Seconds()
		}
		switch e.Do {
		case scenario.Update:
			do()
		case scenario.Crowd, scenario.Leave:
			before, done := crowds, make(chan struct{})
			crowds = done
			running.Go(func() {
				defer close(done)
				<-before
				do()
			})
		default:
			running.Go(do)
		}
	}
	running.Wait()
	r.result.Events = happened
	for i, e := range happened {
		if errors.Is(failed[i], child.ErrEnded) {
			err = errors.Join(err, fmt.Errorf("%w: %s: %w", ErrNode, e.What, failed[i]))
		}
	}
	return err
}

func describe(e scenario.Event) string {
	switch e.Do {
	case scenario.Crowd:
		return fmt.Sprintf("%d subscriptions to channel %d", e.Subscriptions, e.Channel)
	case scenario.Update:
		return fmt.Sprintf("update of channel %d", e.Channel)
	case scenario.Leave:
		return fmt.Sprintf("%s of all subscriptions end", e.Share)
	case scenario.Split:
		return fmt.Sprintf("split into %d ranges", e.Ranges)
	}
	return fmt.Sprintf("%s node %d", e.Do, e.Node)
}

// How long after an event gaps between polls count again.
const (
	calmAfter    = 10 * time.Second // of a node that is back
	takeoverTime = 90 * time.Second // of a node that others replace: leases of a minute end first
)

func (r *run) happen(ctx context.Context, e scenario.Event, at time.Time) error {
	switch e.Do {
	case scenario.Crowd:
		return r.flash(ctx, e, at)
	case scenario.Update:
		r.origin.Change(int(r.places[e.Channel]), at)
		return nil
	case scenario.Leave:
		return errors.Join(r.subscriber.leave(ctx, float64(e.Share)), r.solve(ctx, time.Now()))
	case scenario.Split:
		return r.cluster.split(ctx, e.Ranges)
	}
	n := r.cluster.nodes[e.Node-1]
	if e.Do == scenario.Kill || e.Do == scenario.Start {
		defer func() { r.auditor.restart(e.Do == scenario.Kill, time.Now()) }()
	}
	switch e.Do {
	case scenario.Kill, scenario.Stop, scenario.Pause, scenario.Replace:
		r.tracker.Disturb(at)
		if len(r.cluster.nodes) > 1 {
			r.tracker.Calm(at.Add(takeoverTime))
		}
	default:
		defer func() { r.tracker.Calm(time.Now().Add(calmAfter)) }()
	}
	if e.Do == scenario.Replace {
		return r.cluster.replace(ctx, n)
	}
	return n.do(ctx, e.Do)
}

// flash makes many subscriptions to one channel.
func (r *run) flash(ctx context.Context, e scenario.Event, at time.Time) error {
	number := int(r.places[e.Channel])
	err := errors.Join(r.subscriber.flash(ctx, number, e.Subscriptions, e.Over), r.solve(ctx, time.Now()))
	r.tracker.Crowd(number, at.Add(e.Over))
	return err
}
