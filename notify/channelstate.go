package notify

import (
	"context"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// channelState is a channel with something to do. Workers take it in turns; the
// fields are guarded by webhooks.mu.
type channelState struct {
	id      channel.ID
	info    channel.Channel // as last read
	loaded  bool            // info and pos are the store's
	stale   bool            // info is to be read again
	queued  bool
	running bool // a worker has it
	saving  bool // its position is being committed

	resets int // of pos: what was saved of another one says nothing of this
	pos    position
	skip   uint64           // the step of the pass is a gap up to this version, 0 for none
	lanes  map[uint64]*lane // by sequence number
	left   []uint64         // unsubscribed while running
	drains []drain
	failed int // turns in a row that the store did not answer
}

// drain asks for lanes for stragglers from a sequence number on: those of one
// endpoint, or of all that take them.
type drain struct {
	url  string // empty: all
	from uint64
}

type task uint8

const (
	taskNone task = iota
	taskLoad
	taskDrain
	taskPage
	taskBegin
)

// task returns what is to be done next. None is also the answer while fresh offers
// or unwritten stragglers are too many: both come to an end within a batch.
func (c *channelState) task(l limits) task {
	switch {
	case c.stale:
		return taskLoad
	case len(c.drains) > 0:
		return taskDrain
	case c.pos.open > l.window/2 || len(c.pos.fresh) > 64*l.window || len(c.pos.late.changed) > l.changes:
		return taskNone
	case !c.pos.done:
		return taskPage
	}
	if _, due := c.pos.due(); due {
		return taskBegin
	}
	return taskNone
}

// idle reports whether nothing but the store's own knowledge would be forgotten
// with c.
func (c *channelState) idle(l limits) bool {
	return !c.queued && !c.running && !c.saving && len(c.lanes) == 0 && c.task(l) == taskNone && c.pos.clean()
}

// Locked.
func (w *webhooks) addChannel(id channel.ID) *channelState {
	c := &channelState{id: id, stale: true, pos: position{done: true}, lanes: make(map[uint64]*lane)}
	w.mu.channels[id] = c
	return c
}

// enqueue gives a channel a turn if it has something to do. Locked.
func (w *webhooks) enqueue(c *channelState) {
	if c.queued || c.running || c.task(w.limits) == taskNone {
		return
	}
	c.queued = true
	w.mu.runnable.push(c)
	w.todo.Signal()
}

// touch follows a change of a channel's position: it is to be saved, the channel
// may have a turn, or may be forgotten. Locked.
func (w *webhooks) touch(c *channelState) {
	if !c.pos.clean() {
		w.mu.dirty[c] = struct{}{}
		signal(w.unsaved)
		if len(c.pos.late.changed) > w.limits.changes {
			signal(w.urgent)
		}
	}
	w.enqueue(c)
	if _, dirty := w.mu.dirty[c]; !dirty && c.idle(w.limits) && w.mu.channels[c.id] == c {
		delete(w.mu.channels, c.id)
	}
}

// work gives channels their turns until all stops.
func (w *webhooks) work(ctx context.Context) {
	for {
		c, task := w.nextTurn()
		if c == nil {
			return
		}
		err := w.turn(c, task)
		w.endTurn(ctx, c, err)
	}
}

func (w *webhooks) nextTurn() (*channelState, task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mu.runnable.len() == 0 && !w.mu.stopped {
		w.todo.Wait()
	}
	if w.mu.stopped {
		return nil, taskNone
	}
	c, _ := w.mu.runnable.pop()
	if w.mu.runnable.len() == w.limits.runnable/2 {
		w.drained.Signal()
	}
	c.queued, c.running, c.left = false, true, nil
	task := c.task(w.limits)
	if task == taskLoad {
		c.stale = false // a wake from now on is another one
	}
	return c, task
}

func (w *webhooks) turn(c *channelState, task task) error {
	switch task {
	case taskLoad:
		return w.load(c)
	case taskDrain:
		return w.drain(c)
	case taskPage:
		return w.page(c)
	case taskBegin:
		return w.begin(c)
	}
	return nil
}

func (w *webhooks) endTurn(ctx context.Context, c *channelState, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.running = false
	if err != nil {
		w.metrics.storeFails.WithLabelValues("read").Inc()
		w.log.Warn("store read failed, delivery of a channel waits", "channel", c.id, "error", err)
		c.stale, c.failed = true, c.failed+1
		c.queued = true // by the agenda
		w.later(time.Now().Add(min(retryStore<<min(c.failed, 5), 30*time.Second)), func() {
			c.queued = false
			w.enqueue(c)
		})
		return
	}
	c.failed = 0
	w.touch(c)
	w.pump(ctx)
}

// hasLeft reports whether a subscription was deleted during this turn, after which
// a page that was read may still show it. Locked.
func (c *channelState) hasLeft(seq uint64) bool { return slices.Contains(c.left, seq) }
