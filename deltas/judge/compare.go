package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/codec"
	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/diff"
)

// Update is one new version of a channel as subscribers see it, readable
// without what came before.
type Update struct {
	Kind       content.Kind
	Entries    content.Entries
	Diff       string // of the contents: unified text without context lines; empty when they are equal
	Truncated  bool   // Diff was cut at 64 KiB, or entries were left out beyond 4 MiB
	DeltaBytes int    // length of Delta
	Masked     []Mask // what of the newer content noise hid when it was told; bounded, may be nil

	// Delta is the patch for nodes that hold the base, as [codec.Encode] makes it.
	// It is no part of what Append writes: nil after [DecodeUpdate].
	Delta []byte
}

// Compare returns what changed from base to next. A nil base stands for
// nothing: everything is added. Nothing is ever removed by a document without
// entries or of another kind, which is more likely broken than right.
//
// Compare knows nothing but the two contents. An entry that was there before
// base counts as added until [Update.Admit] is told what is new.
func Compare(base, next *content.Core) *Update { return Noise{}.Compare(base, next) }

// Compare is [Compare] without what the noise masks: the entries that changed tell
// nothing of it. Nor does the difference of controls and counters of entries;
// but what has been learned of a page it shows, so that a wrong guess is seen with the
// next update. The delta is of the whole contents.
func (n Noise) Compare(base, next *content.Core) *Update {
	return n.CompareBy(base, next, codec.Encode(base, next))
}

// CompareBy is [Noise.Compare] where the delta from base to next has been made already.
func (n Noise) CompareBy(base, next *content.Core, delta []byte) *Update {
	was, is := n.view(base), n.view(next)
	c := n.compare(was, is)
	u := &Update{Kind: next.Kind, Entries: content.Entries{
		Added: pick(next.Entries, c.added), Changed: pick(next.Entries, c.changed), Removed: pick(baseEntries(base), c.withdrawn),
	}}
	for i := range u.Entries.Changed {
		u.Entries.Changed[i].Fields = changedFields(was, is, c.before[i], c.changed[i])
	}
	u.Diff, u.Truncated = diff.Unified(n.shown(base, next, was, is))
	u.Masked = n.masksOf(next)
	u.Delta, u.DeltaBytes = delta, len(delta)
	u.bound()
	return u
}

// maxHidden is how many lines that differ in learned noise alone a difference shows.
const maxHidden = 24

// shown returns what the difference of two contents is made of, whose views are given.
func (n Noise) shown(base, next, was, is *content.Core) (*content.Core, *content.Core) {
	if base == nil {
		return was, is
	}
	bare := n
	bare.regions = nil
	bare.slots = slices.DeleteFunc(slices.Clone(n.slots), func(s slot) bool { return s.key.kind() == slotNumber })
	all, new := bare.view(base), bare.view(next)
	if all == was && new == is {
		return was, is
	}
	var t ticks
	lost, got := t.differing(was.ContentText(), is.ContentText())
	seen := len(lost) + len(got)
	lost, got = t.differing(all.ContentText(), new.ContentText())
	if len(lost)+len(got)-seen > maxHidden {
		return was, is
	}
	return all, new
}

// Admit keeps of the added entries those whose identity is among fresh, which
// is what [Decision].NewSeen holds. Entries come back, and are new only once: those
// that say something else since count as changed, without fields.
func (u *Update) Admit(fresh []uint64) {
	known := make(map[uint64]bool, 2*len(fresh))
	for _, number := range fresh {
		known[number], known[number&^sayingBits] = true, true
	}
	kept := u.Entries.Added[:0]
	for _, e := range u.Entries.Added {
		switch id := content.IdentityOf(e.ID); {
		case known[id] || content.IsChosen(u.Kind, e.ID):
			kept = append(kept, e)
		case known[subjectOf(u.Kind, id)]:
			u.Entries.Changed = append(u.Entries.Changed, e)
		}
	}
	u.Entries.Added = kept
}

// Germane reports whether a person would call next another content than base:
// whether more differs than entries that left the window at its old end, the
// order of entries, their dates and controls. It is
// what [Decide] goes by, but for what it remembers.
func Germane(base, next *content.Core) bool {
	base, next = Noise{}.view(base), Noise{}.view(next)
	if base.Hash == next.Hash {
		return false
	}
	c := compareEntries(base, next)
	return len(c.added) > 0 || !c.silent(base, next)
}

// maxEntryBytes is how much text of entries an update carries.
const maxEntryBytes = 4 << 20

// bound leaves out the last entries of an update that is too large to send.
func (u *Update) bound() {
	left := maxEntryBytes
	for _, list := range [...]*[]content.Entry{&u.Entries.Added, &u.Entries.Changed, &u.Entries.Removed} {
		for i, e := range *list {
			if left -= weightOf(&e); left < 0 {
				*list, u.Truncated = (*list)[:i], true
				break
			}
		}
	}
}

// weightOf estimates the bytes of an entry in an update, as JSON before compression.
func weightOf(e *content.Entry) int {
	n := len(e.ID) + len(e.Title) + len(e.Link) + len(e.Summary) + len(e.Geometry) + 150
	for _, list := range [...][]string{e.Categories, e.Fields} {
		for _, s := range list {
			n += len(s) + 3
		}
	}
	return n
}

func baseEntries(base *content.Core) []content.Entry {
	if base == nil {
		return nil
	}
	return base.Entries
}

// pick returns copies of the entries at the indexes; never nil.
func pick(entries []content.Entry, indexes []int) []content.Entry {
	picked := make([]content.Entry, len(indexes))
	for i, at := range indexes {
		picked[i] = entries[at]
	}
	return picked
}

// comparison is what happened to entries, as indexes: of next's entries added
// and changed, of base's entries withdrawn and left.
type comparison struct {
	added, changed  []int
	renamed         []int // the same as one of base's, but for their ID
	paired          []int // of changed, those with another ID
	before          []int // parallel to changed: of base's entries
	withdrawn, left []int // gone: taken back, or out of the window at its old end
	survivors       int   // of base's entries
}

// silent reports that nothing differs but entries that left the window or came
// into it. Documents of different kinds say the same in different words: of these
// title and link of the entries count alone.
func (c *comparison) silent(base, next *content.Core) bool {
	if len(next.Entries) == 0 || len(c.changed)+len(c.withdrawn) > 0 || slices.ContainsFunc(c.added, next.IsChosen) {
		return false
	}
	if base.Kind == next.Kind {
		return base.Title == next.Title && base.Body() == next.Body()
	}
	was := base.Index()
	return !slices.ContainsFunc(c.added, func(i int) bool {
		at, known := was[next.Identities()[i]]
		return known && (base.Entries[at].Title != next.Entries[i].Title || base.Entries[at].Link != next.Entries[i].Link)
	})
}

func compareEntries(base, next *content.Core) comparison {
	var c comparison
	if base == nil {
		base = &content.Core{Kind: next.Kind}
	}
	var was map[uint64]int // nothing of another kind is the same
	if base.Kind == next.Kind {
		was = base.Index()
	}
	stays := make([]bool, len(base.Entries))
	for i, id := range next.Identities() {
		at, ok := was[id]
		if !ok {
			if at, ok = was[next.AliasOrID(i)]; !ok {
				c.added = append(c.added, i)
				continue
			}
			c.renamed = append(c.renamed, i)
		} else if base.Sections()[at] != next.Sections()[i] {
			c.changed = append(c.changed, i)
			c.before = append(c.before, at)
		}
		stays[at] = true
	}
	c.pair(base, next, stays)
	c.gone(base, stays)
	if next.Cut {
		c.left, c.withdrawn = append(c.left, c.withdrawn...), nil
	}
	return c
}

// gone tells the entries that were withdrawn from those that left the window at
// its old end: because they were older than all that stayed or, where dates do
// not say, stood behind them.
func (c *comparison) gone(base *content.Core, stays []bool) {
	oldest, last, dated := "", -1, true
	for i, e := range base.Entries {
		dated = dated && date(e) != ""
		if stays[i] {
			c.survivors++
			last = i
			if d := date(e); oldest == "" || d < oldest {
				oldest = d
			}
		}
	}
	for i, e := range base.Entries {
		switch {
		case stays[i]:
		case c.survivors == 0, dated && date(e) <= oldest, !dated && i > last && !base.IsChosen(i):
			c.left = append(c.left, i)
		default:
			c.withdrawn = append(c.withdrawn, i)
		}
	}
}

// date returns what an entry is ordered by. RFC 3339 in UTC sorts as text.
func date(e content.Entry) string { return cmp.Or(e.Published, e.Updated) }

// changedFields returns the names of what differs between two entries of one
// identity. What is behind the summary is called "content"; a JSON object's
// members go by their own names.
func changedFields(base, next *content.Core, at, i int) []string {
	if next.Kind == content.KindJSON {
		return content.ChangedMembers(base.Sections()[at], next.Sections()[i])
	}
	was, is := base.Entries[at], next.Entries[i]
	fields := make([]string, 0, 4)
	for _, f := range [...]struct{ name, was, is string }{
		{"id", was.ID, is.ID}, {"title", was.Title, is.Title}, {"link", was.Link, is.Link}, {"summary", was.Summary, is.Summary},
		{"categories", strings.Join(was.Categories, "\n"), strings.Join(is.Categories, "\n")}, {"geometry", was.Geometry, is.Geometry},
	} {
		if f.was != f.is {
			fields = append(fields, f.name)
		}
	}
	if len(fields) == 0 {
		fields = append(fields, "content")
	}
	return fields
}
