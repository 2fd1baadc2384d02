package notify

import (
	"cmp"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// lateSet holds the stragglers of a channel: what each needs next, and what the
// store knows of it. Adding, removing and finding take constant time; ordered
// reading sorts only what was added since.
type lateSet struct {
	all     map[uint64]late
	order   []uint64            // sorted; may hold what has left
	added   []uint64            // to be merged into order
	changed map[uint64]struct{} // to be written to the store
}

type late struct {
	next   step   // 0: has caught up, which the store does not know yet
	stored uint64 // what the store holds, 0 for nothing
	unsure bool   // a write of stored is under way, or its outcome is unknown
}

func newLateSet(stored []channel.Straggler) lateSet {
	l := lateSet{all: make(map[uint64]late, len(stored)), changed: make(map[uint64]struct{})}
	for _, s := range stored {
		l.all[s.Seq] = late{next: needs(s.Next), stored: s.Next}
		l.added = append(l.added, s.Seq)
	}
	return l
}

// get returns what a straggler needs next.
func (l *lateSet) get(seq uint64) (next step, ok bool) {
	s := l.all[seq]
	return s.next, s.next != 0
}

func (l *lateSet) put(seq uint64, next step) {
	s, known := l.all[seq]
	if !known {
		l.added = append(l.added, seq)
	}
	s.next = next
	l.all[seq] = s
	l.changed[seq] = struct{}{}
}

// remove says that a straggler has caught up.
func (l *lateSet) remove(seq uint64) {
	s, known := l.all[seq]
	if !known || s.next == 0 {
		return
	}
	s.next = 0
	l.all[seq] = s
	l.changed[seq] = struct{}{}
}

// from returns at most limit stragglers with sequence numbers from seq on, sorted.
func (l *lateSet) from(seq uint64, limit int) []uint64 {
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

func (l *lateSet) merge() {
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

// take returns what is to be written, sorted, and counts it as under way. Of those
// that have caught up some may have to wait, so that there are not many more than
// most; others may not, since the position beside them speaks of them.
func (l *lateSet) take(most int) []channel.Straggler {
	var ops []channel.Straggler
	for seq := range l.changed {
		s := l.all[seq]
		var want uint64
		if s.next != 0 {
			want = s.next.next()
		} else if len(ops) >= most {
			continue
		}
		delete(l.changed, seq)
		if want == s.stored && !s.unsure {
			l.settled(seq, s)
			continue
		}
		s.stored, s.unsure = want, true
		l.all[seq] = s
		ops = append(ops, channel.Straggler{Seq: seq, Next: want})
	}
	slices.SortFunc(ops, func(a, b channel.Straggler) int { return cmp.Compare(a.Seq, b.Seq) })
	return ops
}

// wrote ends what take began. Without success the outcome is unknown, and the
// same is written again.
func (l *lateSet) wrote(ops []channel.Straggler, ok bool) {
	for _, op := range ops {
		if !ok {
			l.changed[op.Seq] = struct{}{}
			continue
		}
		s := l.all[op.Seq]
		s.unsure = false
		l.settled(op.Seq, s)
	}
}

// settled keeps s, or forgets it when neither we nor the store need it.
func (l *lateSet) settled(seq uint64, s late) {
	if s.next == 0 && s.stored == 0 && !s.unsure {
		delete(l.all, seq)
		return
	}
	l.all[seq] = s
}
