package engine

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// channelsMachine drives a table of channels through whatever can happen to it, and
// checks after each step that every channel is asked where it leads. The schedule
// beneath is checked by its own test.
type channelsMachine struct {
	cs    *channels
	now   int64
	polls []*poll // under way
	count map[outcome]int
}

func TestChannelsInvariants(t *testing.T) {
	count := map[outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		config := Config{
			Interval: 10 * time.Second, Floor: time.Second,
			Workers: rapid.IntRange(4, 12).Draw(t, "workers"), HostParallel: rapid.IntRange(1, 3).Draw(t, "parallel"),
		}.withDefaults()
		m := &channelsMachine{cs: newChannels(config), now: 1e18, count: count}
		for range 8 { // the rare interleavings need long runs
			t.Repeat(map[string]func(*rapid.T){
				"order": m.order, "repace": m.repace, "drop": m.drop, "pass": m.pass, "begin": m.begin, "finish": m.finish, "sweep": m.sweep, "": m.check,
			})
		}
	})
	for _, o := range []outcome{notModified, changed, statusError, ended, canceled, redirected} {
		if count[o] == 0 {
			t.Errorf("no poll ended as %v: the test shows nothing", o)
		}
	}
}

func (m *channelsMachine) order(t *rapid.T) {
	first := rapid.IntRange(0, 40).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		o := testOrder(first+i, rapid.Uint64Range(0, 2).Draw(t, "version"))
		o.Rate.Polls = rapid.SampledFrom([]uint32{0, 1, 1, 3}).Draw(t, "polls")
		o.Incarnation = rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "incarnation")
		o.Ask = rapid.SampledFrom([]string{"", "", "", "http://host3.example/learned", "http://host12.example/learned"}).Draw(t, "ask")
		m.cs.order(o, m.now)
	}
}

func (m *channelsMachine) repace(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		m.cs.repace(&Pace{
			Channel: channel.IDOf(testURL(first + i)), Incarnation: rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "incarnation"),
			Rate: overlay.Rate{Polls: rapid.SampledFrom([]uint32{0, 1, 2, 5}).Draw(t, "polls"), Intervals: 1}, Width: 1,
		}, m.now)
	}
}

func (m *channelsMachine) drop(t *rapid.T) {
	first := rapid.IntRange(0, 52).Draw(t, "channel")
	for i := range rapid.IntRange(1, 12).Draw(t, "channels") {
		m.cs.drop(channel.IDOf(testURL(first+i)), m.now)
	}
}

func (m *channelsMachine) pass(t *rapid.T) {
	m.now += rapid.Int64Range(0, 8e9).Draw(t, "time")
	for s := m.cs.schedule; ; {
		if s.Promote(true, m.now); s.NextDue() > m.now {
			return
		}
	}
}

func (m *channelsMachine) begin(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "polls") {
		p, ok := m.cs.begin(m.now)
		if !ok {
			return
		}
		p.Begun = time.Unix(0, m.now)
		m.polls = append(m.polls, &p)
		if p.Host != m.cs.hostOf(p.url) { // the one that is really contacted
			t.Fatalf("%s is asked, and counted at another host", p.url)
		}
	}
}

func (m *channelsMachine) finish(t *rapid.T) {
	if len(m.polls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.polls)-1).Draw(t, "poll")
	p := m.polls[i]
	m.polls = append(m.polls[:i], m.polls[i+1:]...)
	r := result{outcome: rapid.SampledFrom([]outcome{notModified, changed, statusError, ended, canceled, redirected, redirected}).Draw(t, "outcome")}
	m.count[r.outcome]++
	if r.outcome == redirected {
		r.location = fmt.Sprintf("http://host%d.example/elsewhere", rapid.IntRange(5, 14).Draw(t, "host"))
		r.permanent = rapid.Bool().Draw(t, "permanent")
	}
	r.over = r.outcome == ended
	r.status = rapid.SampledFrom([]int{0, 200, 304, 429, 503}).Draw(t, "status")
	if r.answered = rapid.Bool().Draw(t, "words"); r.answered {
		r.words.fresh = time.Duration(rapid.Int64Range(0, 60e9).Draw(t, "fresh"))
		r.words.source, r.remaining = fetcher.SourceMaxAge, r.words.fresh
	}
	r.took = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "took")
	m.cs.conclude(p, &r, m.now)
	m.cs.finish(p, &r, m.now)
}

func (m *channelsMachine) sweep(*rapid.T) {
	for t := m.cs.schedule.Expired(m.now - 10e9); t != nil; t = m.cs.schedule.Expired(m.now - 10e9) {
		m.cs.unclaim(t, m.now)
	}
	m.cs.schedule.Dismiss(m.cs.schedule.Count(m.now).Guests, m.now)
}

// check holds that a channel is at the host of the URL that it is asked at, and that
// the index of where channels end knows just those that end elsewhere.
func (m *channelsMachine) check(t *rapid.T) {
	elsewhere, indexed, ordered := 0, 0, 0
	for target := range m.cs.index.all() {
		c := &target.Channel
		if target.Host().ID != channel.HostID(channel.Host(c.url)) || channel.IDOf(c.own()) != target.ID {
			t.Fatalf("%s with %+v is at host %s", c.url, c.redirect(), target.Host().ID)
		}
		if r := c.redirect(); target.Idle() && !target.Dropped() && target.Failures()%2 == 0 && c.url != cmp.Or(r.ask, c.own()) {
			t.Fatalf("%s is asked, ordered %+v", c.url, r)
		}
		if target.Idle() && c.oddities().hop != nil {
			t.Fatalf("%s: no poll is under way, but a redirect is followed", c.url)
		}
		if final := c.redirect().final; final != "" {
			elsewhere++
			if _, ok := m.cs.ends[channel.IDOf(final)][target]; !ok {
				t.Fatalf("%s ends at %s, and is not found there", c.url, final)
			}
		}
		if !target.Dropped() {
			ordered++
		}
	}
	for _, there := range m.cs.ends {
		indexed += len(there)
	}
	if indexed != elsewhere || ordered != m.cs.schedule.Count(m.now).Targets {
		t.Fatalf("%d channels end elsewhere, %d are found; %d are ordered", elsewhere, indexed, ordered)
	}
}
