package content

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Identify takes entries whose ID is what the format calls it, which may be empty,
// shared or a lie, and gives every entry an identity that does not depend on the other
// entries' order: its own ID, else its link, else its title, else its text.
// Entries of one ID and one title are one entry; of one ID and different titles
// they are different entries, told apart by the title. home is the document's
// own link, which identifies no entry.
func Identify(entries []DraftEntry, home string) []DraftEntry {
	groups := make([][]int, 0, len(entries))
	of := make(map[string]int, len(entries)) // of an identity: its group
	room := make([]int, len(entries))
	for i := range entries {
		e := &entries[i]
		e.ID = e.primaryID(home)
		room[i] = i
		key := identityKey(e.ID)
		if g, known := of[key]; known {
			groups[g] = append(groups[g], i)
		} else {
			of[key] = len(groups)
			groups = append(groups, room[i:i+1:i+1])
		}
	}
	if len(groups) == len(entries) {
		return entries
	}
	distinct := make([]DraftEntry, 0, len(entries))
	for _, group := range groups {
		if len(group) == 1 {
			distinct = append(distinct, entries[group[0]])
		} else {
			distinct = append(distinct, resolve(entries, group)...)
		}
	}
	return distinct
}

// primaryID returns what an entry is known by if nothing else in the document
// claims the same.
func (e *DraftEntry) primaryID(home string) string {
	switch {
	case e.ID != "":
		return clipID(e.ID)
	case e.Link != "" && identityKey(e.Link) != identityKey(home):
		return clipID(e.Link)
	case e.Title != "":
		return ContentID + digest(e.Title)
	default:
		return ContentID + digest(e.section())
	}
}

// ContentID begins the identity of entries that have neither ID nor link.
const ContentID = "content:"

// resolve returns the different entries among several of one identity. Their sources
// are not remembered, since an entry's own bytes do not decide its identity here.
func resolve(entries []DraftEntry, group []int) []DraftEntry {
	var distinct []DraftEntry
	at := make(map[string]int, len(group))
	for _, i := range group {
		e := entries[i]
		e.Source = 0
		sub := e.distinction()
		if known, ok := at[sub]; !ok {
			at[sub] = len(distinct)
			distinct = append(distinct, e)
		} else if e.section() < distinct[known].section() {
			distinct[known] = e // whichever comes first in the document
		}
	}
	if len(distinct) == 1 {
		return distinct
	}
	for sub, i := range at {
		distinct[i].ID += "#" + digest(sub)
	}
	return distinct
}

// distinction returns what tells the entry from others of its ID.
func (e *DraftEntry) distinction() string {
	if e.Title == "" || strings.HasPrefix(e.ID, ContentID) {
		return e.section()
	}
	return e.Title
}

// identityKey is what identities are compared and ordered by. A site that moves
// from http to https has the entries that it had before.
func identityKey(id string) string {
	if rest, ok := strings.CutPrefix(id, "http://"); ok {
		return "https://" + rest
	}
	return id
}

// IdentityOf returns what is remembered of an identity.
func IdentityOf(id string) uint64 { return xxhash.Sum64String(identityKey(id)) }

// aliasOf returns a digest of an entry without its ID, by which it is recognised if its
// ID changes. A feed's entry needs a link: two entries without one may have the same
// text and be different. The alias of an item of a JSON list without IDs includes its
// list.
func (c *Core) aliasOf(i int) (uint64, bool) {
	e := &c.Entries[i]
	where := e.Link
	if c.IsChosen(i) {
		where, _, _ = strings.Cut(e.ID, "[")
	} else if c.Kind != KindFeed || e.Link == "" {
		return 0, false
	}
	_, says, _ := strings.Cut(c.sections[i], "\n")
	var d xxhash.Digest
	d.Reset()
	for _, part := range [...]string{says, identityKey(where), e.Published} {
		d.WriteString(part)
	}
	return d.Sum64(), true
}

// IsChosen reports an item of a JSON list without IDs. It stands for what the list says
// of something, and is news again when it comes back.
func (c *Core) IsChosen(i int) bool { return IsChosen(c.Kind, c.Entries[i].ID) }

// IsChosen is [Core.IsChosen] of an entry by its ID.
func IsChosen(kind Kind, id string) bool {
	return kind == KindJSON && strings.HasPrefix(id, ContentID)
}

// AliasOrID returns an entry's alias, or its identity if it has none.
func (c *Core) AliasOrID(i int) uint64 {
	if alias, ok := c.aliasOf(i); ok {
		return alias
	}
	return c.ids[i]
}

// MaxID is the length of an identity in bytes beyond which its tail becomes a digest.
const MaxID = 512

func clipID(id string) string {
	if len(id) <= MaxID {
		return id
	}
	return strings.ToValidUTF8(id[:MaxID-17], "") + "#" + digest(id)
}

// digest returns 16 hex digits.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
