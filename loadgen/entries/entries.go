// Package entries judges replays of recorded documents by what they hold: each entry that is
// new in a document has to arrive at each of its subscriptions, once, and each update has to say
// something. What is new is found with a feed parser that shares nothing with the nodes' own
// reading; documents that are no feeds have no entries.
package entries

import (
	"bytes"
	"sync"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Fresh returns the entries that captures of a trace have and those before have not, with the
// revisions that bring them; what the first capture has is not new.
func Fresh(trace *loadgen.Trace) map[string]int64 {
	fresh, known := make(map[string]int64), make(map[string]bool)
	for n, capture := range trace.Captures {
		feed, err := gofeed.NewParser().Parse(bytes.NewReader(capture.Body))
		if err != nil {
			continue
		}
		for _, item := range feed.Items {
			id := item.GUID
			if id == "" {
				id = item.Link
			}
			if !known[id] && n > 0 {
				fresh[id] = int64(n + 1)
			}
			known[id] = true
		}
	}
	return fresh
}

// Ledger notes what arrives at subscriptions. Its methods may be called by several goroutines.
type Ledger struct {
	channels []map[string]int64 // what is fresh, by channel
	mu       struct {
		sync.Mutex
		subs   map[int]*subscription // by number
		silent int
	}
}

// subscription is what arrived at one.
type subscription struct {
	channel int
	arrived map[string]time.Time // entries, when they came first
	again   map[string]bool      // those that came more than once
}

// New returns a ledger of channels, given by what is fresh in them.
func New(channels []map[string]int64) *Ledger {
	l := &Ledger{channels: channels}
	l.mu.subs = make(map[int]*subscription)
	return l
}

// Add notes an update at a subscription. One without entries and without a diff says nothing.
func (l *Ledger) Add(number int, added []string, diff bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.subs[number]
	if len(added) == 0 && !diff {
		l.mu.silent++
	}
	for _, id := range added {
		if _, before := s.arrived[id]; before {
			s.again[id] = true
			continue
		}
		s.arrived[id] = at
	}
}

// Subscribed notes that there is a subscription of a number.
func (l *Ledger) Subscribed(number, channel int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.subs[number] = &subscription{channel, make(map[string]time.Time), make(map[string]bool)}
}

// Judge judges the entries that came to stand from one instant to another, by when the
// revisions of channels did. What has not arrived has waited until now.
func (l *Ledger) Judge(from, to, now time.Time, began func(channel int, revision int64) time.Time) *result.Entries {
	out := &result.Entries{Documents: len(l.channels)}
	for channel, fresh := range l.channels {
		for _, revision := range fresh {
			if at := began(channel, revision); !at.Before(from) && at.Before(to) {
				out.Fresh++
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out.Silent = l.mu.silent
	for _, s := range l.mu.subs {
		out.Twice += len(s.again)
		for id, revision := range l.channels[s.channel] {
			at := began(s.channel, revision)
			if at.Before(from) || !at.Before(to) {
				continue
			}
			arrived, came := s.arrived[id]
			if !came {
				out.Missing++
				arrived = now
			}
			out.WaitMax = max(out.WaitMax, float64(arrived.Sub(at).Microseconds())/1000)
		}
	}
	return out
}
