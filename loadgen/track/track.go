// Package track follows a run of a scenario: which polls came, which changes they showed,
// which updates arrived where. It takes times and never asks a clock, so that what it
// judges can be tried without one. What it knows of changes is the origin's schedule, and
// never a node's word.
package track

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// Schedule tells what stands at the origin when; [loadgen.Origin] is one.
type Schedule interface {
	Revision(channel int, at time.Time) int64
	ChangedAt(channel int, revision int64) time.Time
	Window(channel int) int // how many revisions back a document shows
	HostOf(channel int) int // below Config.Hosts
	Well(host int) bool     // it answers as a host should: gaps and changes of others are not judged
}

// Config is what a tracker has to know.
type Config struct {
	Schedule Schedule
	Channels int
	Hosts    int
	Begin    time.Time     // the run's; series count from here
	Longest  time.Duration // of the run: bounds the series
	Floor    time.Duration // between two polls of a channel by one address; 0: none
	Nodes    int           // addresses that poll
	Raw      Raw           // nil: nothing is kept
}

// Raw takes what happened as it happens, from many goroutines.
type Raw interface {
	Changed(channel int, revision int64, changed, sent time.Time)
	Delivered(subscription, channel int, version uint64, revision int64, sent, at time.Time)
}

// Tracker follows a run. Its methods may be called from several goroutines.
type Tracker struct {
	config Config
	locks  [256]sync.Mutex // of channels by number, and of their subscriptions

	channels []channelState
	arrivals []int64        // by channel, the latest polls of as many as there are nodes: a ring
	refused  []atomic.Int64 // by host, when it last asked to be left alone, Unix nanoseconds; 0: never

	subs struct {
		sync.RWMutex
		all []*subscription
	}
	plans  atomic.Pointer[[]*plan] // by time; nil: none yet
	window struct {
		begin, end atomic.Int64 // Unix nanoseconds; 0: not known yet
	}
	disturbed outages

	Series   *Series
	lateness *Histogram
	delivery *Histogram
	counts   counts
	falsely  sync.Map // updates without a change, by channelVersion
}

// counts are of what happened in the window.
type counts struct {
	polls, notModified, bytes, bad     atomic.Int64
	deliveries, duplicates, outOfOrder atomic.Int64
	skipped, floors                    atomic.Int64
	filled                             atomic.Int64 // channels of hosts that are well that were sent a first body, ever
	crowd                              atomic.Int64 // nanoseconds from a crowd until its rate was seen, at most
}

// channelState is the state of a channel as the tracker has seen it.
type channelState struct {
	last    int64 // arrival of the latest poll, Unix nanoseconds; 0: none
	polls   uint32
	bad     bool // the latest poll got no content: the node may wait before the next one
	sent    []sent
	subs    []*subscription
	crowd   int64   // when a crowd came whose rate has not been seen yet, Unix nanoseconds; 0: none
	gaps    float64 // Σ seconds of gaps in the window, under the latest plan
	squares float64 // Σ of their squares
}

// sent is a body that was sent with a revision that had not been sent before.
type sent struct {
	revision int64
	at       int64 // Unix nanoseconds
}

// plan is what is planned from an instant on.
type plan struct {
	from          int64
	gaps, longest []float64 // seconds
}

// New returns a tracker.
func New(c Config) *Tracker {
	return &Tracker{
		config:   c,
		channels: make([]channelState, c.Channels),
		arrivals: make([]int64, c.Channels*max(c.Nodes, 1)),
		refused:  make([]atomic.Int64, c.Hosts),
		Series:   newSeries(c.Begin, c.Longest),
		lateness: NewHistogram(),
		delivery: NewHistogram(),
	}
}

func (t *Tracker) lock(channel int) *sync.Mutex { return &t.locks[channel%len(t.locks)] }

// SetPlan tells what is planned from an instant on: by channel, seconds between two polls,
// and the longest gap of channels with the same factors; 0 where none is planned. Gaps are
// judged once the nodes have had the time to plan it too.
func (t *Tracker) SetPlan(from time.Time, gaps, longest []float64) {
	next := []*plan{{from.UnixNano(), gaps, longest}}
	if all := t.plans.Load(); all != nil {
		next = append(slices.Clone(*all), next...)
	}
	for i := range t.channels {
		t.forgetGaps(i)
	}
	t.plans.Store(&next)
}

// forgetGaps restarts the sums of a channel's gaps: they are of one plan.
func (t *Tracker) forgetGaps(channel int) {
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	t.channels[channel].gaps, t.channels[channel].squares = 0, 0
}

// plan returns the latest plan, nil before the first.
func (t *Tracker) plan() *plan {
	if all := t.plans.Load(); all != nil {
		return (*all)[len(*all)-1]
	}
	return nil
}

// Crowd says that many subscriptions to a channel came at an instant, for which a plan has
// been set.
func (t *Tracker) Crowd(channel int, at time.Time) {
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	t.channels[channel].crowd = at.UnixNano()
}

// SetWindow says from when to when things count. It is called before it begins.
func (t *Tracker) SetWindow(begin, end time.Time) {
	t.window.begin.Store(begin.UnixNano())
	t.window.end.Store(end.UnixNano())
}

// CutWindow ends the window early.
func (t *Tracker) CutWindow(end time.Time) {
	if end.UnixNano() < t.window.end.Load() {
		t.window.end.Store(end.UnixNano())
	}
}

func (t *Tracker) within(at int64) bool {
	begin := t.window.begin.Load()
	return begin != 0 && at >= begin && at < t.window.end.Load()
}

// Filled returns how many channels of hosts that are well a node has been sent a first body of.
func (t *Tracker) Filled() int64 { return t.counts.filled.Load() }

// Poll takes a poll.
func (t *Tracker) Poll(p loadgen.Poll) {
	t.count(&p)
	lock := t.lock(p.Channel)
	lock.Lock()
	defer lock.Unlock()
	c := &t.channels[p.Channel]
	t.gap(c, &p)
	c.bad = p.Revision == 0
	if p.Rest {
		raise(&t.refused[t.config.Schedule.HostOf(p.Channel)], p.Answered.UnixNano())
	}
	if p.Status == 200 {
		t.send(c, &p)
	}
}

func (t *Tracker) count(p *loadgen.Poll) {
	t.Series.poll(p)
	if !t.within(p.Arrived.UnixNano()) {
		return
	}
	t.counts.polls.Add(1)
	t.counts.bytes.Add(int64(p.Bytes))
	switch {
	case p.Status == 304:
		t.counts.notModified.Add(1)
	case p.Revision == 0:
		t.counts.bad.Add(1)
	}
}

// send notes a body with a revision that is new to the nodes.
func (t *Tracker) send(c *channelState, p *loadgen.Poll) {
	last := int64(0)
	if n := len(c.sent); n > 0 {
		last = c.sent[n-1].revision
	} else if t.config.Schedule.Well(t.config.Schedule.HostOf(p.Channel)) {
		t.counts.filled.Add(1)
	}
	if p.Revision <= last {
		return
	}
	c.sent = append(c.sent, sent{p.Revision, p.Answered.UnixNano()})
	if t.config.Raw == nil || last == 0 {
		return
	}
	for revision := last + 1; revision <= p.Revision; revision++ {
		t.config.Raw.Changed(p.Channel, revision, t.config.Schedule.ChangedAt(p.Channel, revision), p.Answered)
	}
}

// settle is how long nodes may take to follow a change of the plan.
const settle = 5 * time.Second

// skipped is how many times as long as planned a gap is that counts as a poll left out.
const skipped = 1.5

// gap judges the time since the poll before.
func (t *Tracker) gap(c *channelState, p *loadgen.Poll) {
	at := p.Arrived.UnixNano()
	t.floor(c, p.Channel, at)
	before := c.last
	c.last, c.polls = max(before, at), c.polls+1
	plan := t.plan()
	if plan == nil || before == 0 || !t.within(before) || at <= before {
		return
	}
	seconds := float64(at-before) / 1e9
	if c.crowd != 0 && before >= c.crowd && seconds <= skipped*plan.longest[p.Channel] {
		raise(&t.counts.crowd, before-c.crowd)
		c.crowd = 0
	}
	if before < plan.from+int64(settle) {
		return
	}
	c.gaps += seconds
	c.squares += seconds * seconds
	if plan.gaps[p.Channel] == 0 || t.excused(c, p.Channel, before, at) {
		return
	}
	planned, longest := plan.gaps[p.Channel], plan.longest[p.Channel]
	if seconds > skipped*longest {
		t.counts.skipped.Add(1)
	}
	if !t.within(at) {
		return // after the window nodes are asked for all that they have
	}
	if math.Abs(seconds-longest) < math.Abs(seconds-planned) {
		planned = longest
	}
	late := time.Duration(max(seconds-planned, 0) * 1e9)
	t.lateness.Record(late)
	t.Series.late(at, late)
}

// excused reports whether a node may have had a reason to wait from one instant to another:
// nodes were away, the channel's last answer had no content, its host asked to be left alone,
// after which it rests as a whole, or is sick.
func (t *Tracker) excused(c *channelState, channel int, from, to int64) bool {
	host := t.config.Schedule.HostOf(channel)
	refused := t.refused[host].Load()
	return c.bad || !t.config.Schedule.Well(host) || refused >= from && refused <= to || t.disturbed.overlap(from, to) > 0
}

// floorError is how much sooner than the floor a poll may seem to come: a request arrives
// some time after it left, which the floor counts from.
const floorError = 10 * time.Millisecond

// floor holds that as many polls as there are addresses, and one more, take the floor at
// least.
func (t *Tracker) floor(c *channelState, channel int, at int64) {
	nodes := max(t.config.Nodes, 1)
	ring := t.arrivals[channel*nodes : (channel+1)*nodes]
	slot := &ring[int(c.polls)%nodes]
	if *slot != 0 && t.config.Floor > 0 && at-*slot < int64(t.config.Floor-floorError) && t.within(at) {
		t.counts.floors.Add(1)
	}
	*slot = at
}

// Disturb says that from an instant on nodes are not all there, until Calm: gaps meanwhile
// are not counted as faults.
func (t *Tracker) Disturb(from time.Time) { t.disturbed.begin(from) }

// Calm says that from an instant on all is as planned again.
func (t *Tracker) Calm(from time.Time) { t.disturbed.end(from) }
