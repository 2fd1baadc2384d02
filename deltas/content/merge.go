package content

import (
	"cmp"
	"strings"
)

// Merge returns what a feed's whole document says, of base, the content that
// the poller held, and partial, an answer of new and changed entries alone (RFC
// 3229 with instance manipulation "feed"). The partial's entries come first and
// take the place of base's with their identity; of base's others follow as many
// as fill the window, which holds as many entries as base had. Text and Hash
// are those of the whole document if its window slides, the newest first.
//
// An ID that base and partial each have once is one entry, whatever its title;
// one that either has several times tells nothing, and the title decides, as in
// [extract.Content]. An entry that the publisher withdrew stays until it leaves the
// window: such an answer cannot say it.
//
// The error is [ErrMerge] unless both are feeds, or [ErrTooLarge].
func Merge(base, partial *Core) (*Core, error) {
	if base == nil || base.Kind != KindFeed || partial.Kind != KindFeed {
		return nil, ErrMerge
	}
	held, err := base.drafts()
	if err != nil {
		return nil, err
	}
	fresh, err := partial.drafts()
	if err != nil {
		return nil, err
	}
	window := max(len(held), len(fresh))
	entries := append(fresh, unreplaced(held, fresh)...)
	d := Draft{
		Kind:    KindFeed,
		Title:   cmp.Or(partial.Title, base.Title),
		Entries: Identify(entries[:min(window, len(entries))], ""),
	}
	merged, err := d.Core(nil)
	if err != nil {
		return nil, err
	}
	merged.Hints = partial.Hints
	return merged, nil
}

// drafts returns the entries as they were before they were told apart, in the
// document's order.
func (c *Core) drafts() ([]DraftEntry, error) {
	entries := make([]DraftEntry, len(c.Entries))
	for i, section := range c.sections {
		e, err := readSection(section, nil)
		if err != nil {
			return nil, err
		}
		e.Published, e.Updated = c.Entries[i].Published, c.Entries[i].Updated
		e.ID = e.commonID()
		entries[i] = e
	}
	return entries, nil
}

// commonID returns the ID that the entry had before [resolve] told it apart.
func (e DraftEntry) commonID() string {
	at := strings.LastIndexByte(e.ID, '#')
	if at < 0 {
		return e.ID
	}
	suffix := e.ID[at+1:]
	if e.ID = e.ID[:at]; suffix == digest(e.distinction()) {
		return e.ID
	}
	return e.ID + "#" + suffix
}

// unreplaced returns the held entries that no fresh one is another version of.
func unreplaced(held, fresh []DraftEntry) []DraftEntry {
	heldOf, freshOf := countIDs(held), countIDs(fresh)
	type version struct{ key, distinction string }
	said := make(map[version]bool, len(fresh))
	for _, f := range fresh {
		said[version{identityKey(f.ID), f.distinction()}] = true
	}
	var kept []DraftEntry
	for _, h := range held {
		key := identityKey(h.ID)
		if heldOf[key] == 1 && freshOf[key] == 1 || said[version{key, h.distinction()}] {
			continue
		}
		kept = append(kept, h)
	}
	return kept
}

// countIDs returns how many entries each ID has.
func countIDs(entries []DraftEntry) map[string]int {
	counts := make(map[string]int, len(entries))
	for _, e := range entries {
		counts[identityKey(e.ID)]++
	}
	return counts
}
