//go:build unix

package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// worldFigures are what became of a world's facts over all its seeds. A stand is a
// time at which a fact stood for two looks and more.
type worldFigures struct {
	World    string `json:"world"`
	Stands   int    `json:"stands"`
	Never    int    `json:"never"`    // stands of which no update shows the fact, from their begin to their end and two looks beyond
	Late     int    `json:"late"`     // told, but not within the limit
	LateBy   int    `json:"latest"`   // looks until the latest of them was told
	Glimpses int    `json:"glimpses"` // facts that stood for one look
	Seen     int    `json:"glimpsed"` // of them told
	False    int    `json:"false"`    // updates at which no fact had changed, most of one seed
	Counts   int    `json:"counts"`   // looks at which counters alone changed
	Counted  int    `json:"counted"`  // of them told
	Versions int    `json:"versions"` // most of one seed
	Told     int    `json:"told"`     // updates of all seeds
	Right    int    `json:"right"`    // of them with news
	Holds    bool   `json:"holds"`
}

// runWorlds lives each world whose name contains a text once for each seed.
func runWorlds(name string, seeds int) []worldFigures {
	var all []worldFigures
	for _, w := range worlds() {
		if !strings.Contains(w.name, name) {
			continue
		}
		f := worldFigures{World: w.name}
		for seed := range seeds {
			f.live(w, uint64(seed+1))
		}
		f.Holds = f.within(w.limit)
		all = append(all, f)
	}
	return all
}

func (f *worldFigures) within(l limits) bool {
	if f.Never > int(l.never*float64(f.Stands)) || l.late > 0 && f.Late > 0 || l.falsely >= 0 && f.False > l.falsely {
		return false
	}
	if float64(f.Right) < l.precision*float64(f.Told) {
		return false
	}
	return l.counters == 0 || float64(f.Counted) <= l.counters*float64(f.Counts)
}

// stand is a fact that stands, or stood.
type stand struct {
	fact        string
	begin, last int // looks
	told        int // look; -1: not yet
}

// chronicle follows the facts of one life.
type chronicle struct {
	standing map[string]*stand
	over     []*stand
}

// look records the facts of a look, and reports whether they are others than before.
func (c *chronicle) look(n int, facts []string) (changed bool) {
	is := make(map[string]bool)
	for _, fact := range facts {
		is[fact] = true
		if s := c.standing[fact]; s != nil {
			s.last = n
			continue
		}
		changed = true
		c.standing[fact] = &stand{fact: fact, begin: n, last: n, told: -1}
	}
	for fact, s := range c.standing {
		if !is[fact] {
			changed = true
			delete(c.standing, fact)
			c.over = append(c.over, s)
		}
	}
	return changed
}

// tell notes what an update of a look shows.
func (c *chronicle) tell(n int, shows func(fact string) bool) {
	for _, s := range c.standing {
		if s.told < 0 && shows(s.fact) {
			s.told = n
		}
	}
	for _, s := range c.over {
		if s.told < 0 && n <= s.last+2 && shows(s.fact) {
			s.told = n
		}
	}
}

func (f *worldFigures) live(w world, seed uint64) {
	name := fnv.New64a()
	io.WriteString(name, w.name)
	at := w.begin(rand.New(rand.NewPCG(seed, name.Sum64())))
	c := chronicle{standing: make(map[string]*stand)}
	var replay deltas.Replay
	var counters []string
	versions, falsely, news := 0, 0, false
	for n := range w.looks {
		s := at(n)
		news = c.look(n, s.facts) || news
		step := replay.Capture(deltas.Document{Body: []byte(s.body), ContentType: "text/html"}, now(w.every, n))
		if step.Err != nil {
			panic(fmt.Sprintf("%s: %v", w.name, step.Err))
		}
		counts := n > 0 && !slices.Equal(counters, s.counters)
		counters = s.counters
		if n == 0 {
			c.tell(n, func(string) bool { return true })
			news = false
			continue
		}
		if counts && !news {
			f.Counts++
		}
		if step.Verdict != deltas.VerdictPublish {
			continue
		}
		versions++
		f.Told++
		c.tell(n, func(fact string) bool { return shows(step.Update, fact) })
		switch {
		case news:
			f.Right++
		case counts:
			f.Counted++
		case n >= w.limit.settled:
			falsely++
		}
		news = false
	}
	f.False, f.Versions = max(f.False, falsely), max(f.Versions, versions)
	for _, s := range c.standing {
		c.over = append(c.over, s)
	}
	for _, s := range c.over {
		f.count(s, w)
	}
}

func (f *worldFigures) count(s *stand, w world) {
	switch looks := s.last - s.begin + 1; {
	case looks == 1 && s.last < w.looks-1:
		f.Glimpses++
		if s.told >= 0 {
			f.Seen++
		}
	case looks == 1:
	default:
		f.Stands++
		switch wait := s.told - s.begin + 1; {
		case s.told < 0:
			f.Never++
		case wait > w.limit.late:
			f.Late++
			f.LateBy = max(f.LateBy, wait)
		}
	}
}

// shows reports whether an update shows a fact: an entry's ID and a line of it, or a
// text. What was taken away does not show it.
func shows(u *deltas.Update, fact string) bool {
	id, line, ofEntry := strings.Cut(fact, " ")
	if ofEntry && strings.HasPrefix(id, "urn:") {
		return showsLine(u, id, line)
	}
	for _, line := range strings.Split(u.Diff, "\n") {
		if strings.HasPrefix(line, "+") && strings.Contains(line, fact) {
			return true
		}
	}
	for _, e := range u.Entries.Added {
		if strings.Contains(e.Title+"\n"+e.Summary, fact) {
			return true
		}
	}
	return false
}

func showsLine(u *deltas.Update, id, line string) bool {
	for _, e := range slices.Concat(u.Entries.Added, u.Entries.Changed) {
		if e.ID == id && strings.Contains(e.Summary, line) {
			return true
		}
		if e.ID == id {
			return slices.ContainsFunc(strings.Split(u.Diff, "\n"), func(d string) bool {
				return strings.HasPrefix(d, "+") && strings.Contains(d, line)
			})
		}
	}
	return false
}

func printWorlds(w io.Writer, all []worldFigures) {
	fmt.Fprintf(w, "%-55s %7s %6s %5s %6s %9s %6s %6s %9s %9s\n", "WORLD", "STANDS", "NEVER", "LATE", "LATEST", "GLIMPSES", "FALSE", "VERS", "COUNTERS", "PRECISION")
	for _, f := range all {
		broken := ""
		if !f.Holds {
			broken = "  BROKEN"
		}
		fmt.Fprintf(w, "%-55s %7d %6d %5d %6d %4d/%4d %6d %6d %4d/%4d %9.2f%s\n", f.World, f.Stands, f.Never, f.Late, f.LateBy, f.Seen, f.Glimpses, f.False, f.Versions, f.Counted, f.Counts, float64(f.Right)/float64(max(f.Told, 1)), broken)
	}
}
