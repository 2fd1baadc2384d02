package judge

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// MaxSeen is how many numbers are remembered of a channel's entries, the newest.
const MaxSeen = 4096

// Remember returns seen with the new numbers behind it, the newest MaxSeen. It may
// reuse seen's memory.
func Remember(seen, fresh []uint64) []uint64 {
	seen = append(seen, fresh...)
	if excess := len(seen) - MaxSeen; excess > 0 {
		seen = append(seen[:0], seen[excess:]...)
	}
	return seen
}

// A saying is what is remembered of an entry that left: its upper 40 bits are the
// entry's subject, the others a digest of what it said. Sayings stand among the
// identities seen, and are never taken for one.
const sayingBits = 1<<24 - 1

// subjectOf returns the saying of an entry that said nothing. Documents of different
// kinds say the same in different words.
func subjectOf(kind content.Kind, id uint64) uint64 {
	return (id ^ uint64(kind)*0x9e3779b97f4a7c15) &^ sayingBits
}

// sayingOf returns the saying of a content's entry.
func sayingOf(c *content.Core, i int) uint64 {
	_, says, _ := strings.Cut(c.Sections()[i], "\n")
	return subjectOf(c.Kind, c.Identities()[i]) | xxhash.Sum64String(says)&sayingBits
}

// memory is what seen has of the entries that came, changed their identity or left:
// of each identity and alias itself, of each subject the newest saying; 0 for what it
// has not.
type memory map[uint64]uint64

func recall(seen []uint64, base, next *content.Core, c *comparison) memory {
	m := make(memory, 3*(len(c.added)+len(c.paired))+len(c.left)+len(c.withdrawn))
	for _, i := range slices.Concat(c.added, c.paired) {
		m[next.Identities()[i]], m[next.AliasOrID(i)], m[subjectOf(next.Kind, next.Identities()[i])] = 0, 0, 0
	}
	for _, i := range slices.Concat(c.left, c.withdrawn) {
		m[subjectOf(base.Kind, base.Identities()[i])] = 0
	}
	if len(m) == 0 {
		return m
	}
	for _, number := range seen {
		for _, key := range [...]uint64{number, number &^ sayingBits} {
			if _, wanted := m[key]; wanted {
				m[key] = number
			}
		}
	}
	return m
}

// unseen returns the identities of those of next's entries at the indexes that are not
// remembered, by identity or by alias, and their aliases: those of the document's last
// entries first, since what is remembered first is forgotten first.
func (m memory) unseen(next *content.Core, indexes []int) []uint64 {
	var fresh []uint64
	for _, i := range slices.Backward(indexes) {
		id, alias := next.Identities()[i], next.AliasOrID(i)
		if m[id] != 0 || m[alias] != 0 {
			continue
		}
		if fresh = append(fresh, id); alias != id {
			fresh = append(fresh, alias)
		}
	}
	return fresh
}

// returned returns the sayings of those of next's entries at the indexes that say
// something else than is remembered of them.
func (m memory) returned(next *content.Core, indexes []int) []uint64 {
	var sayings []uint64
	for _, i := range indexes {
		if known := m[subjectOf(next.Kind, next.Identities()[i])]; known != 0 && known != sayingOf(next, i) {
			sayings = append(sayings, sayingOf(next, i))
		}
	}
	return sayings
}

// departed returns the sayings to be remembered of base's entries at the indexes. An
// item that is news again when it comes back needs none.
func (m memory) departed(base *content.Core, indexes []int) []uint64 {
	var sayings []uint64
	for _, i := range indexes {
		if saying := sayingOf(base, i); !base.IsChosen(i) && m[subjectOf(base.Kind, base.Identities()[i])] != saying {
			sayings = append(sayings, saying)
		}
	}
	return sayings
}
