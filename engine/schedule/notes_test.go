package schedule

import (
	"math"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
)

const hour = int64(time.Hour)

// pollOnce has a channel polled.
func pollOnce(t *testing.T, s *rig, reply Reply, result Result, now int64) *Poll[site] {
	t.Helper()
	s.Promote(true, now)
	p, ok := s.begin(now)
	if !ok {
		t.Fatal("no poll begins")
	}
	s.end(p, reply, result, now)
	return p
}

// What a poll has shown is noted of its target: failures in a row, until when the origin
// wants to be left alone, whether it refused, and how much memory the next poll needs.
func TestConclude(t *testing.T) {
	const now = int64(1e18)
	after := func(d time.Duration) pace.RetryAfter { return pace.RetryAfter{After: d, Given: true} }
	for _, tc := range []struct {
		name   string
		before func(*Target[site])
		reply  Reply
		result Result
		want   Record // of NotBefore, Failures and Refused
		body   int64
	}{
		{"good", nil, Reply{Status: 200}, Result{}, Record{}, 0},
		{"failed", nil, Reply{Status: 404}, Result{Blame: Failed}, Record{Failures: 1}, 0},
		{"failed again", func(t *Target[site]) { t.pace.Failures = 7 }, Reply{}, Result{Blame: Failed}, Record{Failures: 8}, 0},
		{"failed for years", func(t *Target[site]) { t.pace.Failures = 1<<15 + 1 }, Reply{}, Result{Blame: Failed}, Record{Failures: 1<<15 + 1}, 0},
		{"good after failures", func(t *Target[site]) { t.pace.Failures = 7 }, Reply{Status: 304}, Result{}, Record{}, 0},
		{"canceled", func(t *Target[site]) { t.pace.Failures, t.refused = 7, true }, Reply{}, Result{Blame: Canceled}, Record{Failures: 7, Refused: true}, 0},
		{"failed, with Retry-After", nil, Reply{Status: 500, RetryAfter: after(time.Hour)}, Result{Blame: Failed}, Record{Failures: 1, NotBefore: now + hour}, 0},
		{"failed, with a Retry-After of a week", nil, Reply{Status: 500, RetryAfter: after(7 * 24 * time.Hour)}, Result{Blame: Failed}, Record{Failures: 1, NotBefore: now + 24*hour}, 0},
		{"good, and a Retry-After is over", func(t *Target[site]) { t.setRare(rare[site]{notBefore: now - 1}) }, Reply{Status: 200}, Result{}, Record{}, 0},
		{"the host refuses", nil, Reply{Status: 429, RetryAfter: after(time.Hour)}, Result{}, Record{Refused: true}, 0},
		{"good after the host refused", func(t *Target[site]) { t.refused = true }, Reply{Status: 200}, Result{}, Record{}, 0},

		{"a large body", nil, Reply{Status: 200}, Result{Memory: 1 << 20}, Record{}, 1 << 20},
		{"a larger one", nil, Reply{Status: 200}, Result{Memory: 5 << 20}, Record{}, 5 << 20},
		{"a body that is not large", nil, Reply{Status: 200}, Result{Memory: 1<<20 - 1}, Record{}, 0},
		{"a small body after a large one", func(t *Target[site]) { t.setRare(rare[site]{body: 2 << 20}) }, Reply{Status: 200}, Result{Memory: 100}, Record{}, 0},
		{"a 304 after a large one", func(t *Target[site]) { t.setRare(rare[site]{body: 2 << 20}) }, Reply{Status: 304}, Result{}, Record{}, 2 << 20},
		{"a failure after a large one", func(t *Target[site]) { t.setRare(rare[site]{body: 2 << 20}) }, Reply{Status: 500}, Result{Blame: Failed}, Record{Failures: 1}, 2 << 20},
		{"a small body for which there was no memory", nil, Reply{Status: 200}, Result{Blame: Canceled, Busy: true, Memory: 100}, Record{}, 1 << 20},
		{"no memory for the request itself", nil, Reply{}, Result{Blame: Canceled, Busy: true}, Record{}, 0},
	} {
		s := newRig(Config{})
		target := s.order(0, 1, now)
		if tc.before != nil {
			tc.before(target)
		}
		s.due.set(target, now)
		target.due = now
		tc.reply.Took = time.Second
		s.Promote(true, now)
		p, ok := s.begin(now)
		if !ok {
			t.Fatalf("%s: no poll", tc.name)
		}
		if p.Body > 0 {
			s.MayAsk(p, true, now)
		}
		s.end(p, tc.reply, tc.result, now)
		got := target.Record()
		if got.Failures != tc.want.Failures || got.NotBefore != tc.want.NotBefore || got.Refused != tc.want.Refused || target.rareOf().body != tc.body {
			t.Errorf("%s: %+v, body %d; want %+v, body %d", tc.name, got, target.rareOf().body, tc.want, tc.body)
		}
	}
}

// A poll that waits for memory asks later: what it waited counts as its host's, and it
// does not ask when its order is gone or its host has begun to rest.
func TestMayAsk(t *testing.T) {
	const now = int64(1e18)
	for _, tc := range []struct {
		name   string
		change func(*rig, *Poll[site])
		stands bool
		want   bool
	}{
		{"it may", func(*rig, *Poll[site]) {}, true, true},
		{"its order changed", func(*rig, *Poll[site]) {}, false, false},
		{"its order is gone", func(s *rig, p *Poll[site]) { s.Drop(p.Target, now) }, true, false},
		{"its host rests", func(s *rig, p *Poll[site]) { p.Host.rest.Until = now + hour }, true, false},
	} {
		s := newRig(Config{HostGap: time.Second})
		target := s.order(0, 1, now)
		target.setRare(rare[site]{body: 2 << 20})
		s.due.set(target, now)
		target.due = now
		s.Promote(true, now)
		p, ok := s.begin(now)
		if !ok || p.Body != 2<<20 || p.HostWait != 0 {
			t.Fatalf("%s: %+v, %v", tc.name, p, ok)
		}
		tc.change(s, p)
		const later = now + 5e9
		if got := s.MayAsk(p, tc.stands, later); got != tc.want || p.HostWait != 5e9 || p.Eligible != later {
			t.Errorf("%s: %v, waited %v", tc.name, got, time.Duration(p.HostWait))
		}
		if gap := p.Host.freeAt - later; tc.want && gap != int64(time.Second) {
			t.Errorf("%s: its host is spared for %v", tc.name, time.Duration(gap))
		}
	}
}

// An answer is news of its host when it changes what the host's record says, and a 403
// denies a channel that has content and did not fail.
func TestHostNews(t *testing.T) {
	const now = int64(1e18)
	for _, tc := range []struct {
		name     string
		status   int
		version  uint64
		failures uint16
		news     bool
		denied   uint8
	}{
		{"good", 200, 1, 0, false, 0}, {"refused", 429, 1, 0, true, 0},
		{"forbidden", 403, 1, 0, true, 1}, {"forbidden, without content", 403, 0, 0, false, 0}, {"forbidden, and failed before", 403, 1, 2, false, 0},
	} {
		s := newRig(Config{})
		target := s.order(0, tc.version, now)
		target.pace.Failures = tc.failures
		s.due.set(target, now)
		target.due = now
		p := pollOnce(t, s, Reply{Status: tc.status, Took: time.Second}, Result{Blame: Failed}, now)
		if p.HostNews != tc.news || p.Host.rest.Denied != tc.denied {
			t.Errorf("%s: news %v, %+v", tc.name, p.HostNews, p.Host.rest)
		}
	}
}

// A host is slow after an exchange of more than five seconds, and gets one request at a
// time then; an exchange that says nothing changes nothing.
func TestSpeed(t *testing.T) {
	const now = int64(1e18)
	for _, tc := range []struct {
		took     time.Duration
		want     admission.Class
		parallel int
	}{
		{0, admission.Strange, 1}, {time.Nanosecond, admission.Steady, 2}, {5 * time.Second, admission.Steady, 2}, {5*time.Second + 1, admission.Slow, 1},
	} {
		s := newRig(Config{HostParallel: 2})
		s.order(0, 0, now)
		p := pollOnce(t, s, Reply{Status: 200, Took: tc.took}, Result{}, now)
		if manners := s.MannersOf(p.Host, 0); p.Host.speed != tc.want || manners.Parallel != tc.parallel {
			t.Errorf("%v: class %d, %+v", tc.took, p.Host.speed, manners)
		}
	}
}

// How long a host without channels is remembered: while its gap lasts, and for a day
// after its rest and its last refusal.
func TestRemembered(t *testing.T) {
	const now = int64(1e18)
	for _, tc := range []struct {
		name string
		host Host[site]
		want bool
	}{
		{"nothing", Host[site]{}, false},
		{"its gap", Host[site]{freeAt: now + 1}, true},
		{"its gap is over", Host[site]{freeAt: now}, false},
		{"refused a day ago", Host[site]{rest: pace.Refusals{Count: 1, Last: now - 24*hour}}, false},
		{"refused nearly a day ago", Host[site]{rest: pace.Refusals{Count: 1, Last: now - 24*hour + 1}}, true},
		{"rested until nearly a day ago", Host[site]{rest: pace.Refusals{Count: 1, Last: now - 48*hour, Until: now - 24*hour + 1}}, true},
		{"refused, and forgiven", Host[site]{rest: pace.Refusals{Last: now - 1, Until: now - 1}}, false},
	} {
		if got := tc.host.remembered(now); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// What a restart knows of a host: nothing that is over, nothing later than may be.
func TestRestoreHost(t *testing.T) {
	const now = int64(1e18)
	id := channel.ID{1}
	for _, tc := range []struct {
		name    string
		row     HostRecord
		want    HostRecord
		resting int
		gone    bool
	}{
		{"its gap", HostRecord{ID: id, FreeAt: now + 5}, HostRecord{ID: id, FreeAt: now + 5}, 0, false},
		{"its gap is over", HostRecord{ID: id, FreeAt: now}, HostRecord{}, 0, true},
		{"it rests", HostRecord{ID: id, Refusals: pace.Refusals{Until: now + hour, Last: now - hour, Count: 2, Turn: 7}},
			HostRecord{ID: id, Refusals: pace.Refusals{Until: now + hour, Last: now - hour, Count: 2, Turn: 7}}, 1, false},
		{"it rested", HostRecord{ID: id, Refusals: pace.Refusals{Until: now - 1, Last: now - hour, Good: now - 5, Count: 1}},
			HostRecord{ID: id, Refusals: pace.Refusals{Until: now - 1, Last: now - hour, Good: now - 5, Count: 1}}, 0, false},
		{"of a clock that was ahead", HostRecord{ID: id, FreeAt: now + 99*hour, Refusals: pace.Refusals{Until: now + 99*hour, Last: now + 9, Good: now + 10, Count: 1}},
			HostRecord{ID: id, FreeAt: now + 24*hour, Refusals: pace.Refusals{Until: now + 24*hour, Last: now, Good: now, Count: 1}}, 1, false},
		{"a rest that was forgiven before the clock was set back", HostRecord{ID: id, FreeAt: now + 1, Refusals: pace.Refusals{Until: now + hour}},
			HostRecord{ID: id, FreeAt: now + 1}, 0, false},
	} {
		s := newRig(Config{})
		h := s.RestoreHost(tc.row, now)
		if (h == nil) != tc.gone {
			t.Errorf("%s: %+v", tc.name, h)
			continue
		}
		counts := s.Count(now)
		if h == nil {
			if counts.Hosts != 0 {
				t.Errorf("%s: it is known", tc.name)
			}
			continue
		}
		if h.Record() != tc.want || counts.Resting != tc.resting || counts.Guests != 1 {
			t.Errorf("%s: %+v, %+v; want %+v", tc.name, h.Record(), counts, tc.want)
		}
		if s.RestoreHost(tc.row, now) != nil {
			t.Errorf("%s: restored twice", tc.name)
		}
	}
}

// Hosts without channels are forgotten once they need not be remembered, some at a time.
func TestDismiss(t *testing.T) {
	const now = int64(1e18)
	s := newRig(Config{})
	for i := range byte(5) {
		s.RestoreHost(HostRecord{ID: channel.ID{i}, FreeAt: now + int64(i) + 1}, now)
	}
	if over := s.Dismiss(10, now); len(over) != 0 || s.Count(now).Guests != 5 {
		t.Errorf("%d are forgotten too soon", len(over))
	}
	if over := s.Dismiss(2, now+100); len(over) != 2 || s.Count(now).Hosts != 3 {
		t.Errorf("%d of two are forgotten", len(over))
	}
	used := s.Host(channel.ID{4}, func() bool { return false })
	s.Attach(s.get(1), used)
	if over := s.Dismiss(10, now+100); len(over) != 2 || s.Count(now).Hosts != 1 || s.Count(now).Guests != 0 {
		t.Errorf("%d are forgotten, %+v", len(over), s.Count(now))
	}
	s.Unclaim(s.get(1)) // which was dropped: it leaves its host
	if over := s.Dismiss(10, now+100); len(over) != 1 || over[0] != used {
		t.Errorf("a host that has lost its channel: %v", over)
	}
	rests := s.RestoreHost(HostRecord{ID: channel.ID{9}, Refusals: pace.Refusals{Count: 1, Until: now + hour, Last: now}}, now)
	if s.Dismiss(10, now+26*hour); rests == nil || s.Count(now).Resting != 0 {
		t.Errorf("%d forgotten hosts rest", s.Count(now).Resting)
	}
}

// A wall clock that was set moves what is noted of a target, never past now, and what it
// waits for, never beyond a day.
func TestTargetShift(t *testing.T) {
	const now = int64(1e18)
	for _, tc := range []struct {
		name                             string
		last, fresh, notBefore           int64
		step                             int64
		wantLast, wantFresh, wantAllowed int64
	}{
		{"nothing noted", 0, 0, 0, hour, 0, 0, 0},
		{"forwards", now - 3*hour, now - hour/2, now - hour/4, hour, now - 2*hour, now + hour/2, now + 3*hour/4},
		{"back", now, now + 3*hour, now + 2*hour, -hour, now - hour, now + 2*hour, now + hour},
		{"noted since then", now, now + 24*hour, now + 24*hour, 2 * hour, now, now + 24*hour, now + 24*hour},
	} {
		target := &Target[site]{pace: pace.Channel{LastPoll: tc.last, FreshUntil: tc.fresh}}
		target.setRare(rare[site]{notBefore: tc.notBefore})
		target.shift(tc.step, now)
		if target.LastPoll() != tc.wantLast || target.pace.FreshUntil != tc.wantFresh || target.NotBefore() != tc.wantAllowed {
			t.Errorf("%s: last %v, fresh until %v, not before %v", tc.name, target.LastPoll()-now, target.pace.FreshUntil-now, target.NotBefore()-now)
		}
	}
}

// An origin's wishes hold a target back until it is fresh no more, and in hours that it
// leaves out; forgiven, it has none.
func TestWaits(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).UnixNano()
	s := newRig(Config{})
	target := s.order(0, 1, nine)
	if target.Waits(nine) {
		t.Error("waits without a wish")
	}
	target.SetWishes(nine+1, pace.Skip{})
	if !target.Waits(nine) || target.Waits(nine+1) {
		t.Error("waits for other than the end of freshness")
	}
	target.SetWishes(0, pace.NewSkip(1<<9, 0))
	if !target.Waits(nine) || target.Waits(nine+hour) || target.rare == nil {
		t.Error("waits for other than the end of the hour")
	}
	if s.Forgive(target); target.Waits(nine) || target.rare != nil {
		t.Errorf("waits, forgiven: %+v", target)
	}
}

// Widths and ranks that two bytes do not hold are the greatest; a negative one has no
// slot.
func TestClamp16(t *testing.T) {
	for n, want := range map[int]uint16{-1: math.MaxUint16, 0: 0, 7: 7, math.MaxUint16: math.MaxUint16, math.MaxUint16 + 1: math.MaxUint16, math.MaxInt: math.MaxUint16} {
		if got := clamp16(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}
