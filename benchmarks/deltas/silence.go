//go:build unix

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// silenceFigures count what stood in a history and what subscribers were shown of it.
// An item is an entry of a feed; of other documents a line, numbers aside, that no
// capture before had. A state is a short line that comes to an entry while others have
// it too, numbers aside.
type silenceFigures struct {
	Items    int `json:"items"` // that stood at two captures and more
	Never    int `json:"never"` // of them in no told version
	Glimpses int `json:"glimpses"`
	Unseen   int `json:"unseen"` // items of one capture, and those of them in no told version
	Late     int `json:"late"`   // items told later than at their second capture
	Latest   int `json:"latest"` // captures until the last of them was told
	States   int `json:"states"`
	Hidden   int `json:"hidden"` // states that stood at two captures and more, and that no update shows
}

func (f *silenceFigures) plus(o silenceFigures) {
	f.Items, f.Never, f.Glimpses, f.Unseen = f.Items+o.Items, f.Never+o.Never, f.Glimpses+o.Glimpses, f.Unseen+o.Unseen
	f.Late, f.Latest, f.States, f.Hidden = f.Late+o.Late, max(f.Latest, o.Latest), f.States+o.States, f.Hidden+o.Hidden
}

func (f silenceFigures) print(w io.Writer) {
	fmt.Fprintf(w, "  silence: %d of %d items never told, %d of %d of one capture; %d told late, the last after %d captures; %d of %d states hidden\n",
		f.Never, f.Items, f.Unseen, f.Glimpses, f.Late, f.Latest, f.Hidden, f.States)
}

// silence follows what stands at each capture.
func (l *life) silence(seen []document) (f silenceFigures) {
	items, states := make(map[string]*stand), make(map[string]*stand)
	for n, s := range l.steps {
		told := n == 0 || s.Update != nil
		for _, item := range seen[n].items() {
			i := items[item]
			if i == nil {
				i = &stand{begin: n, told: -1}
				items[item] = i
			}
			if i.last = n; told && i.told < 0 {
				i.told = n
			}
		}
		if n == 0 {
			continue
		}
		for _, state := range seen[n].statesSince(seen[n-1]) {
			f.state(states[state])
			states[state] = &stand{fact: state, begin: n, told: -1}
		}
		for state, i := range states {
			if seen[n].says(state) && i.last <= n-1 {
				i.last = n
			}
			if s.Update != nil && i.told < 0 && i.last == n && showsState(s.Update, state) {
				i.told = n
			}
		}
	}
	for _, i := range items {
		f.item(i)
	}
	for _, s := range states {
		f.state(s)
	}
	return f
}

func (f *silenceFigures) item(i *stand) {
	never := 0
	if i.told < 0 {
		never = 1
	}
	if i.last == i.begin {
		f.Glimpses, f.Unseen = f.Glimpses+1, f.Unseen+never
		return
	}
	f.Items, f.Never = f.Items+1, f.Never+never
	if wait := i.told - i.begin + 1; wait > 2 {
		f.Late, f.Latest = f.Late+1, max(f.Latest, wait)
	}
}

func (f *silenceFigures) state(s *stand) {
	if s == nil || s.begin == s.last {
		return
	}
	f.States++
	if s.told < 0 {
		f.Hidden++
	}
}

// items returns what a document shows.
func (d document) items() []string {
	if d.entries != nil {
		return d.ids
	}
	var items []string
	for line := range d.lines {
		if line = withoutNumbers(line); strings.ContainsFunc(line, isLetter) {
			items = append(items, line)
		}
	}
	slices.Sort(items)
	return slices.Compact(items)
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }

// repeated is how many entries have a line that is a state.
const repeated = 3

// longestState is the length of the longest line that is a state, in bytes.
const longestState = 60

// statesSince returns the states that entries have not had in a document before: of
// each an ID and a line.
func (d document) statesSince(before document) []string {
	entries := make(map[string]int)
	for _, lines := range d.entries {
		for line := range lines {
			entries[withoutNumbers(line)]++
		}
	}
	var states []string
	for id, lines := range d.entries {
		was, known := before.entries[id]
		for line := range lines {
			if known && was[line] == 0 && len(line) <= longestState && entries[withoutNumbers(line)] >= repeated && strings.ContainsFunc(line, isLetter) {
				states = append(states, id+stateMark+line)
			}
		}
	}
	return states
}

func (d document) says(state string) bool {
	id, line, _ := strings.Cut(state, stateMark)
	return d.entries[id][line] > 0
}

const stateMark = "\n"

// showsState reports whether an update shows a state: in what the entry says now, or
// in what came to the document.
func showsState(u *deltas.Update, state string) bool {
	id, line, _ := strings.Cut(state, stateMark)
	for _, e := range slices.Concat(u.Entries.Added, u.Entries.Changed) {
		if e.ID == id || e.Link == id {
			return strings.Contains(e.Title+"\n"+e.Summary, line) || slices.ContainsFunc(strings.Split(u.Diff, "\n"), func(d string) bool {
				return strings.HasPrefix(d, "+") && strings.Contains(d, line)
			})
		}
	}
	return false
}
