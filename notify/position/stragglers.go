package position

import (
	"cmp"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// stragglers is the set of a channel's subscriptions that are not where the cursor
// says, as a write-behind cache of the store: it keeps what each needs next beside
// what the store holds. Adding, removing and finding take constant time; reading in
// order sorts only what was added since the last reading.
type stragglers struct {
	all     map[uint64]straggler
	order   []uint64            // sorted; may hold sequence numbers that are no longer in all
	added   []uint64            // to be merged into order
	changed map[uint64]struct{} // to be written to the store
}

type straggler struct {
	next   Step   // 0: has caught up, which the store does not know yet
	stored uint64 // the next version that the store holds, 0 for none
	unsure bool   // a write of stored is under way, or its outcome is unknown
}

func newStragglers(stored []channel.Straggler) stragglers {
	l := stragglers{all: make(map[uint64]straggler, len(stored)), changed: make(map[uint64]struct{})}
	for _, s := range stored {
		l.all[s.Seq] = straggler{next: FirstStep(s.Next), stored: s.Next}
		l.added = append(l.added, s.Seq)
	}
	return l
}

// get returns what a straggler needs next.
func (l *stragglers) get(seq uint64) (next Step, ok bool) {
	s := l.all[seq]
	return s.next, s.next != 0
}

// put adds a straggler, or changes what it needs next.
func (l *stragglers) put(seq uint64, next Step) {
	s, known := l.all[seq]
	if !known {
		l.added = append(l.added, seq)
	}
	s.next = next
	l.all[seq] = s
	l.changed[seq] = struct{}{}
}

// remove notes that a straggler has caught up.
func (l *stragglers) remove(seq uint64) {
	s := l.all[seq]
	if s.next == 0 {
		return
	}
	s.next = 0
	l.all[seq] = s
	l.changed[seq] = struct{}{}
}

// from returns at most limit stragglers with sequence numbers from seq on, sorted.
func (l *stragglers) from(seq uint64, limit int) []uint64 {
	l.merge()
	start, _ := slices.BinarySearch(l.order, seq)
	var out []uint64
	for _, seq := range l.order[start:] {
		if len(out) == limit {
			break
		}
		if l.all[seq].next != 0 {
			out = append(out, seq)
		}
	}
	return out
}

func (l *stragglers) merge() {
	if len(l.added) == 0 && len(l.order) <= 2*len(l.all)+64 {
		return
	}
	l.order = slices.DeleteFunc(append(l.order, l.added...), func(seq uint64) bool {
		_, known := l.all[seq]
		return !known
	})
	l.added = l.added[:0]
	slices.Sort(l.order)
	l.order = slices.Compact(l.order)
}

// beginSave returns the changes to be written, sorted, and counts them as under
// way. Removals beyond most wait for a later save. Other changes may not wait, since
// the cursor that is saved beside them presumes them.
func (l *stragglers) beginSave(most int) []channel.Straggler {
	var changes []channel.Straggler
	for seq := range l.changed {
		s := l.all[seq]
		var want uint64
		if s.next != 0 {
			want = s.next.NextVersion()
		} else if len(changes) >= most {
			continue
		}
		delete(l.changed, seq)
		if want == s.stored && !s.unsure {
			l.keep(seq, s)
			continue
		}
		s.stored, s.unsure = want, true
		l.all[seq] = s
		changes = append(changes, channel.Straggler{Seq: seq, Next: want})
	}
	slices.SortFunc(changes, func(a, b channel.Straggler) int { return cmp.Compare(a.Seq, b.Seq) })
	return changes
}

// endSave ends what beginSave began. Without success the outcome is unknown, and
// the same subscriptions are written again.
func (l *stragglers) endSave(changes []channel.Straggler, ok bool) {
	for _, change := range changes {
		if !ok {
			l.changed[change.Seq] = struct{}{}
			continue
		}
		s := l.all[change.Seq]
		s.unsure = false
		l.keep(change.Seq, s)
	}
}

// keep keeps s, whose stored is sure, in memory unless it has caught up and the store
// knows that.
func (l *stragglers) keep(seq uint64, s straggler) {
	if s.next == 0 && s.stored == 0 {
		delete(l.all, seq)
		return
	}
	l.all[seq] = s
}
