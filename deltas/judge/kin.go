package judge

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// pair finds entries of base that are gone among those that came to a JSON list without
// IDs or titles, whose key may have been a member that changes. Lines of text that
// stand in one entry of either document alone are what stays the same: the entry with
// which one shares most of them, and half of its own, is the same, and has changed.
func (c *comparison) pair(base, next *content.Core, stays []bool) {
	if base.Kind != next.Kind || !slices.Contains(stays, false) || !slices.ContainsFunc(c.added, func(i int) bool { return isNameless(next, i) }) {
		return
	}
	before, after := owners(base), owners(next)
	c.added = slices.DeleteFunc(c.added, func(i int) bool {
		at := -1
		if isNameless(next, i) {
			at = kinOf(next, i, before, after, stays)
		}
		if at >= 0 {
			stays[at] = true
			c.changed, c.before, c.paired = append(c.changed, i), append(c.before, at), append(c.paired, i)
		}
		return at >= 0
	})
}

// isNameless reports an entry whose identity may be a member that changes.
func isNameless(c *content.Core, i int) bool { return c.IsChosen(i) && c.Entries[i].Title == "" }

// kinOf returns the entry of another content, as its owners, that is taken for c's
// entry i and is gone; -1 if there is none, or two are as likely.
func kinOf(c *content.Core, i int, before, after map[string]int, stays []bool) int {
	shared := make(map[int]int)
	texts, best, most := 0, -1, 0
	eachString(c.Sections()[i], func(line string) {
		texts++
		at, known := before[line]
		if !known || at < 0 || stays[at] || after[line] != i {
			return
		}
		switch shared[at]++; {
		case shared[at] > most:
			best, most = at, shared[at]
		case shared[at] == most && at != best:
			best = -1
		}
	})
	if 2*most < texts {
		return -1
	}
	return best
}

// owners returns the entry in which each line of text stands, -1 for several.
func owners(c *content.Core) map[string]int {
	of := make(map[string]int)
	for i, section := range c.Sections() {
		eachString(section, func(line string) {
			if at, known := of[line]; known && at != i {
				of[line] = -1
			} else {
				of[line] = i
			}
		})
	}
	return of
}

// eachString calls f with each line of a JSON entry that says a text.
func eachString(section string, f func(line string)) {
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, content.Indent) && strings.HasSuffix(line, "\"\n") {
			f(line)
		}
	}
}
