//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// stage is one width of a channel's wedge.
type stage struct {
	Width    int     `json:"width"`
	Rate     float64 `json:"rate"`   // polls per interval
	RoseS    float64 `json:"rose_s"` // from the subscriptions until the channel is polled so
	WaitS    float64 `json:"wait_s"`
	PlannedS float64 `json:"planned_s"`
	Pollers  int     `json:"pollers"` // addresses that polled
	Answers  int     `json:"full_answers"`
	Changes  int     `json:"changes"`
}

// changesOfStage is how many changes of the channel each stage has.
const changesOfStage = 6

// crowdRun lets subscribers come to one channel, so that more and more nodes poll it.
func (o *options) crowdRun(ctx context.Context, program, folder string) (*result, error) {
	res := newResult(o)
	perNode := int(o.interval / o.floor) // polls per interval that one node may make
	places := []place{newPlace(0, 0, perNode)}
	err := o.with(ctx, o.nodes, places, program, folderOf(folder, o.nodes), func(ctx context.Context, r *run) error {
		if err := r.fill(ctx); err != nil {
			return err
		}
		r.origin.freeze(false)
		for width := 1; width <= o.nodes; width++ {
			if width > 1 {
				if err := r.arrive(ctx, atOnce(0, perNode)); err != nil {
					return err
				}
			}
			s, err := r.stage(ctx, width, float64(width*perNode))
			if err != nil {
				return err
			}
			res.Widths = append(res.Widths, s)
		}
		res.judgeWidths(r)
		return nil
	})
	return res, err
}

// stage waits until the channel has a width, and measures for an interval.
func (r *run) stage(ctx context.Context, width int, rate float64) (s stage, err error) {
	begun := r.origin.now()
	var ch api.Channel
	err = child.Await(ctx, fmt.Sprintf("a wedge of %d nodes", width), 2*time.Minute, func() (bool, error) {
		ch, err = r.clients[0].Channel(ctx, r.places[0].id)
		return err == nil && ch.Width == width && ch.Rate == rate, nil
	})
	if err != nil {
		return s, fmt.Errorf("%w: rate %g, width %d", err, ch.Rate, ch.Width)
	}
	logf("width %d, rate %g", ch.Width, ch.Rate)
	s = stage{Width: width, Rate: rate, RoseS: (r.origin.now() - begun).Seconds(), PlannedS: r.interval.Seconds() / (2 * rate)}
	pause(ctx, r.interval/4+r.floor) // the first polls at the new rate
	measured := span{from: r.origin.now()}
	for range changesOfStage {
		pause(ctx, r.interval/changesOfStage/2)
		r.origin.grow(0)
		pause(ctx, r.interval/changesOfStage/2)
	}
	measured.to = r.origin.now()
	pause(ctx, 2*r.interval/time.Duration(rate))
	polls := r.origin.polled()
	wait, ok := newTimeline(1, polls).wait(0, measured.from, measured.to)
	if !ok {
		return s, fmt.Errorf("width %d: the channel is not polled any more", width)
	}
	for _, part := range shares(polls, measured, len(r.names)) {
		if part > 0 {
			s.Pollers++
		}
	}
	s.WaitS = wait.Seconds()
	s.Answers, s.Changes = fullAnswers(polls, span{measured.from, r.origin.now()})
	return s, ctx.Err()
}
