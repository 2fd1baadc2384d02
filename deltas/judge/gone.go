package judge

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// stillGone reports whether a content lacks most of what a candidate lacked. A list
// that shrinks and moves is never the same twice.
func stillGone(gone []uint32, is *content.Core) bool {
	if len(gone) == 0 {
		return false
	}
	missing := len(gone)
	eachSaid(is, func(said uint32) {
		if _, ok := slices.BinarySearch(gone, said); ok {
			missing--
		}
	})
	return 2*missing >= len(gone)
}

// hasContent is what a content says that is not empty.
var hasContent = uint32(xxhash.Sum64String("content"))

// eachSaid calls f with digests of what a content says, once each: its kind, that it is
// not empty, its entries' identities, and the lines of the page; a repeated line has
// another digest each time. An unknown content, nil, is taken for one that is not empty.
func eachSaid(c *content.Core, f func(said uint32)) {
	if c == nil {
		f(hasContent)
		return
	}
	f(uint32(xxhash.Sum64String(c.Kind.String())))
	if !c.Empty() {
		f(hasContent)
	}
	for _, id := range c.Identities() {
		f(uint32(id))
	}
	times := make(map[uint32]uint32)
	for line := range strings.Lines(c.Body()) {
		digest := uint32(xxhash.Sum64String(line))
		f(digest + times[digest])
		times[digest]++
	}
}

// lacks returns digests of what base says and next does not, the smallest maxGone in
// order. A removal always has some, or no later look could confirm it.
func lacks(base, next *content.Core) []uint32 {
	var gone []uint32
	is := make(map[uint32]bool)
	eachSaid(next, func(said uint32) { is[said] = true })
	eachSaid(base, func(said uint32) {
		if !is[said] {
			gone = append(gone, said)
		}
	})
	slices.Sort(gone)
	return slices.Clone(gone[:min(len(gone), maxGone)])
}
