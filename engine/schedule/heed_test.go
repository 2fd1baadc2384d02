package schedule

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestHeedWaiting: channels that wait at a host for its gap when it begins to rest, since
// it refused another node, are asked for after the rest, within an interval.
func TestHeedWaiting(t *testing.T) {
	s := newRig(Config{Interval: 30 * time.Second, Floor: 5 * time.Second, HostGap: time.Second})
	now := int64(1e18)
	for i := range 20 {
		s.order(10*i, 0, now)
	}
	host := s.hostOf(0)
	p, ok := s.beginNext(now)
	if !ok {
		t.Fatal("no first poll")
	}
	s.unchanged(p, now)
	rest := channel.Rest{Host: host.ID, Until: time.Unix(0, now+int64(time.Minute)), Refusals: 1}
	if s.Heed(rest, now) != host || s.Heed(rest, now) != nil {
		t.Fatal("a rest is heeded once")
	}
	seen := make(map[int]bool)
	for at := now; at < now+int64(2*time.Minute); at = max(at+1, s.NextDue()) {
		p, ok := s.beginNext(at)
		if !ok {
			continue
		}
		if at < rest.Until.UnixNano() {
			t.Fatalf("channel %d is asked for %v after the rest began", p.Target.Channel.i, time.Duration(at-now))
		}
		seen[p.Target.Channel.i] = true
		s.unchanged(p, at)
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 channels were asked for within an interval of the rest", len(seen))
	}
}

// beginNext begins the next poll that is due.
func (r *rig) beginNext(now int64) (p *Poll[site], ok bool) {
	r.Promote(true, now)
	return r.begin(now)
}

// TestHeedUnknownHost: a host that no order has named is forgotten when its rest and its
// refusals matter no more.
func TestHeedUnknownHost(t *testing.T) {
	s := newRig(Config{})
	now := int64(1e18)
	rest := channel.Rest{Host: channel.ID{1}, Until: time.Unix(0, now+int64(time.Minute)), Refusals: 1}
	h := s.Heed(rest, now)
	if h == nil || h.Rest() != rest {
		t.Fatalf("it rests as %+v", h)
	}
	if over := s.Dismiss(10, now+int64(time.Hour)); len(over) != 0 {
		t.Error("forgotten an hour later")
	}
	if over := s.Dismiss(10, now+int64(25*time.Hour)); len(over) != 1 || over[0] != h {
		t.Errorf("%d hosts forgotten a day later, want it alone", len(over))
	}
}
