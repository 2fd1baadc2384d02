package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const (
	askEvery   = 250 * time.Millisecond // how often the node is asked whether it has polled
	commitTime = 2 * time.Second        // from the poll to the commit of what it found, at most
)

// pollWait waits for the first poll of a channel.
type pollWait struct {
	client   *api.Client
	most     time.Duration // 0: it does not wait
	progress *ticker
}

// run returns the channel once it was polled and what that poll found stands;
// nil when the time or the context ends before.
func (p *pollWait) run(ctx context.Context, id channel.ID) (*api.Channel, error) {
	if p.most <= 0 {
		return nil, nil
	}
	defer p.progress.clear()
	deadline, cancel := context.WithTimeout(ctx, p.most)
	defer cancel()
	var polled time.Time // when a poll was first seen
	for {
		c, err := p.client.Channel(deadline, id)
		if deadline.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if c.LastPoll != nil && polled.IsZero() {
			polled = time.Now()
		}
		if settled(&c) || !polled.IsZero() && time.Since(polled) > commitTime {
			return &c, nil
		}
		p.progress.tick()
		select {
		case <-time.After(askEvery):
		case <-deadline.Done():
			return nil, nil
		}
	}
}

// settled reports whether a channel's state tells what the first poll found.
func settled(c *api.Channel) bool {
	return c.LastPoll != nil && (c.Version > 0 || c.Gone || c.LastError != "" || c.LastStatus != 200)
}

// ticker shows on a terminal for how long something has been waited for.
type ticker struct {
	w     io.Writer // nil: not a terminal
	label string
	began time.Time
	shown bool
}

func newTicker(w io.Writer, label string) *ticker {
	if !isTerminal(w) {
		w = nil
	}
	return &ticker{w: w, label: label, began: time.Now()}
}

func (t *ticker) tick() {
	if t.w != nil {
		fmt.Fprintf(t.w, "\r%s (%v)", t.label, time.Since(t.began).Truncate(time.Second))
		t.shown = true
	}
}

func (t *ticker) clear() {
	if t.shown {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}
