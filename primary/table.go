package primary

import (
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// table maps channels to their factors, 76 bytes each, with room for at most an eighth
// more of them: a sorted run for every bucket. A map of the same has between one and
// two places for each channel.
type table struct {
	runs [channel.Buckets][]entry
	n    int
}

type entry struct {
	id channel.ID
	factors
}

// spare is how many entries a run has room for beyond the eighth by which it grows.
const spare = 4

// find returns a channel's place in its run, and whether it is there.
func (t *table) find(id channel.ID) (run *[]entry, at int, found bool) {
	run = &t.runs[id.Bucket()]
	at, found = slices.BinarySearchFunc(*run, id, func(e entry, id channel.ID) int { return e.id.Compare(id) })
	return run, at, found
}

// get returns the zero value for a channel that is not there.
func (t *table) get(id channel.ID) (factors, bool) {
	if f := t.at(id); f != nil {
		return *f, true
	}
	return factors{}, false
}

// at returns a channel's factors in their place, until the table changes; nil for a
// channel that is not there.
func (t *table) at(id channel.ID) *factors {
	run, at, found := t.find(id)
	if !found {
		return nil
	}
	return &(*run)[at].factors
}

func (t *table) set(id channel.ID, f factors) {
	run, at, found := t.find(id)
	if found {
		(*run)[at].factors = f
		return
	}
	if n := len(*run); n == cap(*run) {
		*run = append(make([]entry, 0, n+n/8+spare), *run...) // by itself it would double
	}
	*run = slices.Insert(*run, at, entry{id, f})
	t.n++
}

func (t *table) remove(id channel.ID) {
	run, at, found := t.find(id)
	if !found {
		return
	}
	*run = slices.Delete(*run, at, at+1)
	t.n--
	if len(*run) < cap(*run)/4 {
		*run = slices.Clone(*run) // or mass deletions would free nothing
	}
}

// take removes the channels of a bucket and returns them.
func (t *table) take(bucket channel.Bucket) []entry {
	run := t.runs[bucket]
	t.runs[bucket], t.n = nil, t.n-len(run)
	return run
}
