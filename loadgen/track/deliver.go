package track

import (
	"slices"
	"time"
)

// subscription is the state of one subscription as the tracker has seen it.
type subscription struct {
	number  int
	channel int
	since   int64 // when it was acknowledged, Unix nanoseconds: changes after that are due
	until   int64 // when it was told to end; 0: it lasts
	sick    bool  // its endpoint does not acknowledge: nothing is due

	last    uint64  // the highest version that arrived
	seen    uint64  // bit k: version last−k arrived
	first   int64   // the lowest revision that arrived first
	mark    int64   // the highest that arrived
	missing []int64 // between first and mark, in order
}

// Subscribe notes a subscription that was acknowledged, and returns its number. sick says
// that its endpoint will not acknowledge what it gets.
func (t *Tracker) Subscribe(channel int, acknowledged time.Time, sick bool) int {
	s := &subscription{channel: channel, since: acknowledged.UnixNano(), sick: sick}
	t.subs.Lock()
	s.number = len(t.subs.all)
	t.subs.all = append(t.subs.all, s)
	t.subs.Unlock()
	lock := t.lock(channel)
	lock.Lock()
	defer lock.Unlock()
	t.channels[channel].subs = append(t.channels[channel].subs, s)
	return s.number
}

// Unsubscribe notes that a subscription is told to end at an instant: what is due by then may
// have arrived, and nothing else has to.
func (t *Tracker) Unsubscribe(number int, at time.Time) {
	t.subs.RLock()
	s := t.subs.all[number]
	t.subs.RUnlock()
	lock := t.lock(s.channel)
	lock.Lock()
	defer lock.Unlock()
	s.until = at.UnixNano()
}

// Update is an update that arrived at a subscription.
type Update struct {
	Version   uint64
	Revisions []int64 // of the entries that it adds
	Recorded  bool    // of a recorded document: nothing is known of its changes, and versions alone are judged
	At        time.Time
}

// Deliver takes an update of a subscription.
func (t *Tracker) Deliver(number int, u Update) {
	t.subs.RLock()
	s := t.subs.all[number]
	t.subs.RUnlock()
	lock := t.lock(s.channel)
	lock.Lock()
	defer lock.Unlock()
	at := u.At.UnixNano()
	counts := t.within(at)
	switch s.arrive(u.Version) {
	case again:
		if counts {
			t.counts.duplicates.Add(1)
		}
		return
	case late:
		if counts {
			t.counts.outOfOrder.Add(1)
		}
	}
	if u.Recorded {
		return
	}
	slices.Sort(u.Revisions)
	if len(u.Revisions) == 0 || !s.take(u.Revisions) {
		t.falsely.LoadOrStore(channelVersion{s.channel, u.Version}, at)
		return
	}
	t.measure(s, &u, u.Revisions[len(u.Revisions)-1])
}

// channelVersion is a version of a channel.
type channelVersion struct {
	channel int
	version uint64
}

// measure notes how long the newest change of an update was on its way.
func (t *Tracker) measure(s *subscription, u *Update, revision int64) {
	sentAt, ok := t.channels[s.channel].sentAt(revision)
	if !ok {
		t.falsely.LoadOrStore(channelVersion{s.channel, u.Version}, u.At.UnixNano())
		return // it tells of what no node was sent
	}
	at := u.At.UnixNano()
	if t.config.Raw != nil {
		t.config.Raw.Delivered(s.number, s.channel, u.Version, revision, time.Unix(0, sentAt), u.At)
	}
	if s.sick || !t.within(t.config.Schedule.ChangedAt(s.channel, revision).UnixNano()) {
		return
	}
	t.counts.deliveries.Add(1)
	t.delivery.Record(time.Duration(at - sentAt))
	t.Series.deliver(at, time.Duration(at-sentAt))
}

// sentAt returns when a body with a revision, or a later one, was first sent.
func (c *channelState) sentAt(revision int64) (at int64, ok bool) {
	for i := len(c.sent) - 1; i >= 0 && c.sent[i].revision >= revision; i-- {
		at, ok = c.sent[i].at, true
	}
	return at, ok
}

// The ways in which a version arrives.
type arrival uint8

const (
	next  arrival = iota
	again         // it had arrived
	late          // a later one had arrived, and it had not
)

const remembered = 64 // versions, by bits

func (s *subscription) arrive(version uint64) arrival {
	if version > s.last {
		s.seen = s.seen<<min(version-s.last, remembered) | 1
		s.last = version
		return next
	}
	back := s.last - version
	if back >= remembered || s.seen&(1<<back) != 0 {
		return again
	}
	s.seen |= 1 << back
	return late
}

// take notes revisions, which are sorted, and reports whether one is new.
func (s *subscription) take(revisions []int64) (fresh bool) {
	if s.mark == 0 {
		s.first, s.mark = revisions[0], revisions[0]
		fresh = true
	}
	for _, r := range revisions {
		if r > s.mark {
			for between := s.mark + 1; between < r && len(s.missing) < mostMissing; between++ {
				s.missing = append(s.missing, between)
			}
			s.mark, fresh = r, true
			continue
		}
		if i, found := slices.BinarySearch(s.missing, r); found {
			s.missing, fresh = slices.Delete(s.missing, i, i+1), true
		} else if r < s.first {
			s.first, fresh = r, true
		}
	}
	return fresh
}

// mostMissing bounds what is remembered of changes that a subscription did not get.
const mostMissing = 10_000

// has reports whether a revision arrived.
func (s *subscription) has(revision int64) bool {
	if s.mark == 0 || revision < s.first || revision > s.mark {
		return false
	}
	_, missing := slices.BinarySearch(s.missing, revision)
	return !missing
}
