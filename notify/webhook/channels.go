package webhook

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// channelState is a channel with something to do or to save.
type channelState struct {
	id      channel.ID
	tenure  *tenure         // of its range
	info    channel.Channel // as last read
	loaded  bool            // info and pos are the store's
	stale   bool            // info is to be read again
	queued  bool            // for a turn
	running bool            // a worker has it
	saving  bool            // its position is being committed

	resets int // of pos: the outcome of a save that began before one is void
	pos    position.Position
	lanes  map[uint64]*lane // by sequence number
	ended  []uint64         // subscriptions that were deleted while running
	drains []drain
	old    bool // what the pass offers may be of before the tenure
	failed int  // turns in a row that the store did not answer
}

// drain asks for lanes for stragglers of some sequence numbers.
type drain struct {
	endpoint *endpoint // whose; nil: of all endpoints that accept them
	span
}

// span is some sequence numbers of a channel.
type span struct{ first, last uint64 }

// all has all subscriptions.
var all = span{0, math.MaxUint64}

type task uint8

const (
	taskNone task = iota
	taskLoad
	taskDrain
	taskPage
	taskBegin
)

// task returns what is to be done next. None is also the answer while open offers
// or unwritten stragglers are too many: both come to an end within a batch.
func (c *channelState) task(l limits) task {
	switch {
	case c.stale:
		return taskLoad
	case len(c.drains) > 0:
		return taskDrain
	case c.pos.Open() > l.window/2 || c.pos.Window() > 64*l.window || c.pos.Unsaved() > l.changes:
		return taskNone
	case !c.pos.Done():
		return taskPage
	}
	if _, due := c.pos.Due(); due {
		return taskBegin
	}
	return taskNone
}

// idle reports whether the store knows all that c knows.
func (c *channelState) idle(l limits) bool {
	return !c.queued && !c.running && !c.saving && len(c.lanes) == 0 && c.task(l) == taskNone && c.pos.Clean()
}

// busy reports whether a pass has nothing to give to a subscription: a lane brings it
// to the step, or it was deleted during this turn, after which a page that was read
// may still show it. Locked.
func (c *channelState) busy(seq uint64) bool {
	return c.lanes[seq] != nil || slices.Contains(c.ended, seq)
}

// channels are the channels in memory, those of them that wait for a turn, and those
// whose position is to be saved. A channel leaves memory when the store has its whole
// state.
type channels struct {
	*core
	turns   *sync.Cond    // a channel became runnable, or all stops
	room    *sync.Cond    // fewer channels are runnable, or all stops
	changed chan struct{} // 1: a position is to be saved
	urgent  chan struct{} // 1: so much is to be saved that the batch must not wait

	byID     map[channel.ID]*channelState
	runnable fifo[*channelState]
	sweeps   int // drains of all endpoints that are not done
}

func newChannels(core *core) *channels {
	return &channels{
		core:  core,
		turns: sync.NewCond(core), room: sync.NewCond(core),
		changed: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		byID: make(map[channel.ID]*channelState),
	}
}

// stop ends all waiting. Locked.
func (s *channels) stop() {
	s.turns.Broadcast()
	s.room.Broadcast()
}

// get returns the state of a channel of a range that is served, a new one if it is not
// in memory. Locked.
func (s *channels) get(t *tenure, id channel.ID) *channelState {
	c := s.byID[id]
	if c == nil {
		c = &channelState{id: id, tenure: t, stale: true, pos: position.Idle(), lanes: make(map[uint64]*lane)}
		s.byID[id] = c
	}
	return c
}

// wake gives a channel a turn in which its record is read again; false when there
// is no room for it. Of a range that is not served it needs none: another node delivers
// it, or a scan is to come. Locked.
func (s *channels) wake(id channel.ID) bool {
	t := s.served(id.Bucket())
	if t == nil {
		return true
	}
	if s.byID[id] == nil && s.runnable.len() >= s.limits.runnable {
		return false
	}
	c := s.get(t, id)
	c.stale = true
	s.enqueue(c)
	return true
}

// addDrain asks for lanes for a channel's stragglers. Locked.
func (s *channels) addDrain(c *channelState, d drain) {
	if d.endpoint == nil {
		s.sweeps++
	}
	c.drains = append(c.drains, d)
	s.enqueue(c)
}

// endDrain removes a channel's first drain. Locked.
func (s *channels) endDrain(c *channelState) drain {
	d := c.drains[0]
	c.drains = slices.Delete(c.drains, 0, 1)
	if d.endpoint == nil {
		s.sweeps--
	}
	return d
}

// enqueue gives a channel a turn if it has something to do. Locked.
func (s *channels) enqueue(c *channelState) {
	if c.queued || c.running || c.task(s.limits) == taskNone {
		return
	}
	c.queued = true
	s.runnable.push(c)
	s.turns.Signal()
}

// touch is called after a change of a channel's position: it requests a save, gives the
// channel a turn, or drops it from memory. Locked.
func (s *channels) touch(c *channelState) {
	unsaved := c.tenure.unsaved
	if !c.pos.Clean() {
		unsaved[c] = struct{}{}
		signal(s.changed)
		if c.pos.Unsaved() > s.limits.changes {
			signal(s.urgent)
		}
	}
	s.enqueue(c)
	if _, unsaved := unsaved[c]; !unsaved && c.idle(s.limits) && s.byID[c.id] == c {
		delete(s.byID, c.id)
	}
}

// beginTurn waits for a channel with something to do; nil when all stops.
func (s *channels) beginTurn() (*channelState, task) {
	s.Lock()
	defer s.Unlock()
	for s.runnable.len() == 0 && !s.stopped {
		s.turns.Wait()
	}
	if s.stopped {
		return nil, taskNone
	}
	c, _ := s.runnable.pop()
	if s.runnable.len() == s.limits.runnable/2 {
		s.room.Signal()
	}
	c.queued, c.running, c.ended = false, true, nil
	task := c.task(s.limits)
	if task == taskLoad {
		c.stale = false // a wake from now on is another one
	}
	return c, task
}

// endTurn ends a turn. A channel whose turn failed gets another after a pause.
// Locked.
func (s *channels) endTurn(c *channelState, failed bool) {
	c.running = false
	if !failed {
		c.failed = 0
		s.touch(c)
		return
	}
	c.stale, c.failed = true, c.failed+1
	c.queued = true // by the agenda
	s.later(time.Now().Add(min(retryStore<<min(c.failed, 5), 30*time.Second)), func() {
		c.queued = false
		s.enqueue(c)
	})
}

// awaitRoom waits until few channels are runnable; false when all stops. Locked.
func (s *channels) awaitRoom() bool {
	for s.runnable.len() > s.limits.runnable/2 && !s.stopped {
		s.room.Wait()
	}
	return !s.stopped
}

// reset forgets the position of a channel that has ended, or that has no webhook
// subscription. Messages under way to its subscriptions count for nothing. Locked.
func (s *channels) reset(c *channelState) {
	for seq, l := range c.lanes {
		l.dropped = true
		delete(c.lanes, seq)
	}
	c.info, c.loaded, c.pos = channel.Channel{}, false, position.Idle()
	c.resets++
}

// lose forgets all channels of a range that is no longer led, and returns the endpoints
// whose drains it ended, once for each. What a turn or a save of one is about to do
// comes to nothing. Locked.
func (s *channels) lose(t *tenure) (drains []*endpoint) {
	for id, c := range s.byID {
		if c.tenure != t {
			continue
		}
		delete(s.byID, id)
		s.reset(c)
		c.stale = false
		for len(c.drains) > 0 {
			if d := s.endDrain(c); d.endpoint != nil {
				drains = append(drains, d.endpoint)
			}
		}
	}
	clear(t.unsaved)
	return drains
}

// unsubscribed stops what a deleted subscription still had to get. Locked.
func (s *channels) unsubscribed(sub channel.Subscription) {
	c := s.byID[sub.Channel]
	if c == nil {
		return
	}
	if c.running {
		c.ended = append(c.ended, sub.Seq)
	}
	if l := c.lanes[sub.Seq]; l != nil {
		l.dropped = true
		delete(c.lanes, sub.Seq)
	}
	c.pos.Remove(sub.Seq)
	s.touch(c)
}
