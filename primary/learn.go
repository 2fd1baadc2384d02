package primary

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// learned is what a channel's range replicates of how often the channel changes,
// as of the newest version: what every later poll shows until the next one is that
// nothing has changed, which needs no record.
type learned struct {
	history honeycomb.History
	turned  float32 // times that the document's entries were replaced by new ones; fades as the history does
	shown   uint16  // entries of the newest version
}

// leastWindow is from how many entries on a document is a window on them, and not
// the place of the newest.
const leastWindow = 4

// learn returns what a new version adds to what is known of a channel, whose state
// is the judge's from before. Nil, which keeps what is known, is for any other
// decision: contents that are rebased or held, or come back before they are
// believed, are no change.
func learn(ch channel.Channel, state deltas.State, report engine.Report, decision deltas.Decision) []byte {
	if decision.Verdict != deltas.VerdictPublish {
		return nil
	}
	l, _ := readLearned(ch.Learned)
	times, fresh := published(report.Core, decision.NewSeen)
	if ch.Version == 0 {
		l = learned{}
		l.history.Seed(times, report.Begun)
	} else {
		l.turn(report.Begun.Sub(changedAt(ch)), fresh, len(report.Core.Entries))
		l.change(changedAt(ch), knownAt(report, state), report.Begun, times)
	}
	l.shown = uint16(min(len(report.Core.Entries), math.MaxUint16))
	return l.append(nil)
}

// change records a change after the one before: it was not there yet in a poll
// begun when known, the latest before, and was in the one begun at. Where no such
// poll is known, as after a start, polls are taken to have been close.
func (l *learned) change(before, known, at time.Time, times []time.Time) {
	moments := honeycomb.Published(times, later(before, known), at)
	if known.IsZero() && len(moments) == 0 {
		moments = []time.Time{at}
	}
	if len(moments) > 0 {
		l.history.Counted(before, moments, at)
		return
	}
	l.history.Changed(max(known.Sub(before), 0).Seconds(), at.Sub(known).Seconds())
}

// turn records, after some time, how many entries are new and how many there are:
// those that are not there any more have made room. Where none have to, as in a
// document that holds everything, nothing turns over.
func (l *learned) turn(passed time.Duration, fresh, shown int) {
	l.turned *= float32(honeycomb.Faded(max(passed, 0).Seconds()))
	if int(l.shown) < leastWindow || shown < leastWindow {
		return
	}
	gone := int(l.shown) + fresh - shown
	l.turned += float32(min(max(gone, 0), fresh)) / float32(shown)
}

// published returns how many of a content's entries are new, and the times at which
// they were published, of those that say so.
func published(core *deltas.Core, newSeen []uint64) (times []time.Time, fresh int) {
	unseen := make(map[uint64]bool, len(newSeen))
	for _, id := range newSeen {
		unseen[id] = true
	}
	for i, id := range core.Identities() {
		if !unseen[id] {
			continue
		}
		fresh++
		entry := core.Entries[i]
		if at, err := time.Parse(time.RFC3339, cmp.Or(entry.Published, entry.Updated)); err == nil {
			times = append(times, at)
		}
	}
	return times, fresh
}

// knownAt returns when the latest poll began that showed the version before, zero
// where that is not known. It is not before the one that the content came from.
func knownAt(report engine.Report, state deltas.State) time.Time {
	if report.Known.IsZero() {
		return time.Time{}
	}
	return later(report.Known, state.Shown)
}

// changedAt returns when a channel last changed as far as is known.
func changedAt(ch channel.Channel) time.Time { return later(ch.FirstContent, ch.LastChange) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// The stored form: the version, numbers as IEEE 754 in 32 bits, the last of them
// turned, and shown in 16 bits, big endian. Version 1 knows of one stretch of time,
// version 2 of two.
const (
	learnedVersion = 2
	learnedLen     = 1 + 7*4 + 2
	learnedLen1    = 1 + 4*4 + 2
)

func (l learned) append(b []byte) []byte {
	b = append(b, learnedVersion)
	before, since := l.history.Before, l.history.Since
	for _, number := range [...]float32{before.Changes, before.Gap, before.Quiet, since.Changes, since.Gap, since.Quiet, l.turned} {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(number))
	}
	return binary.BigEndian.AppendUint16(b, l.shown)
}

// readLearned reads what append wrote, now or as version 1. It reports false for
// anything else, such as what a later version wrote: then nothing is known, and
// learning starts again.
func readLearned(b []byte) (learned, bool) {
	switch {
	case len(b) == learnedLen && b[0] == learnedVersion:
	case len(b) == learnedLen1 && b[0] == 1:
	default:
		return learned{}, false
	}
	numbers, tail := make([]float32, 0, 7), b[1:]
	for ; len(tail) > 2; tail = tail[4:] {
		number := math.Float32frombits(binary.BigEndian.Uint32(tail))
		if !(number >= 0 && number <= math.MaxFloat32) {
			return learned{}, false
		}
		numbers = append(numbers, number)
	}
	l := learned{turned: numbers[len(numbers)-1], shown: binary.BigEndian.Uint16(tail)}
	l.history.Before = honeycomb.Stretch{Changes: numbers[0], Gap: numbers[1], Quiet: numbers[2]}
	if b[0] == learnedVersion {
		l.history.Since = honeycomb.Stretch{Changes: numbers[3], Gap: numbers[4], Quiet: numbers[5]}
	}
	return l, true
}
