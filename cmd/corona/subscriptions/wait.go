package subscriptions

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/channels"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
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

// run returns the channel once it was polled and what that poll found stands. When
// the time or the context ends before, or will, since the poll has to wait longer,
// it returns what it saw last; nil is nothing.
func (p *pollWait) run(ctx context.Context, id channel.ID) (seen *api.Channel, err error) {
	if p.most <= 0 {
		return nil, nil
	}
	defer p.progress.clear()
	deadline, cancel := context.WithTimeout(ctx, p.most)
	defer cancel()
	var polled time.Time // when the end of a poll was first seen
	for {
		c, err := p.client.Channel(deadline, id)
		if deadline.Err() != nil {
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		seen = &c
		if channels.Ended(&c) && polled.IsZero() {
			polled = time.Now()
		}
		if settled(&c) || !polled.IsZero() && time.Since(polled) > commitTime {
			return seen, nil
		}
		if end, _ := deadline.Deadline(); c.LastPoll == nil && c.Waiting != nil && c.Waiting.Until != nil && c.Waiting.Until.After(end) {
			return seen, nil
		}
		p.progress.tick()
		select {
		case <-time.After(askEvery):
		case <-deadline.Done():
			return seen, nil
		}
	}
}

// settled reports whether a channel's state tells what the first poll found.
func settled(c *api.Channel) bool {
	return channels.Ended(c) && (c.Version > 0 || c.LastStatus != 200 || c.LastError != "")
}

// ticker shows on a terminal for how long something has been waited for.
type ticker struct {
	w     io.Writer // nil: not a terminal
	label string
	began time.Time
	shown bool
}

func newTicker(w io.Writer, label string) *ticker {
	if !cli.IsTerminal(w) {
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
