//go:build unix

package main

import (
	"github.com/seed-91e7e7c1/corona/deltas"
)

// historyFigures are what one history gives.
type historyFigures struct {
	History  string         `json:"history"`
	Kind     string         `json:"kind"`
	Captures int            `json:"captures"`
	Updates  int            `json:"updates"`
	Unread   int            `json:"unread"`            // captures that are no document
	Entries  *entryFigures  `json:"entries,omitempty"` // of feeds
	Told     map[string]int `json:"told"`              // updates by what a person sees between the two documents
	Silent   map[string]int `json:"silent"`            // other captures, the same
	Silence  silenceFigures `json:"silence"`
	Bytes    byteFigures    `json:"bytes"`
	Patches  patchFigures   `json:"patches"`
	Speed    speedFigures   `json:"speed"`
	Tools    []toolFigures  `json:"tools,omitempty"`
}

// entryFigures count the entries of a feed that the first capture has not.
type entryFigures struct {
	Shown   int `json:"shown"`
	Missing int `json:"missing"`
	Twice   int `json:"twice"`
}

// byteFigures are totals over updates.
type byteFigures struct {
	Documents   int     `json:"documents"`
	Contents    int     `json:"contents"`
	Deltas      int     `json:"deltas"` // hashes and notes included
	PatchErrors int     `json:"patch_errors"`
	Make        float64 `json:"make_seconds"` // of the processor
	Apply       float64 `json:"apply_seconds"`
}

func (l *life) figures(tools []tool) (*historyFigures, error) {
	h := &historyFigures{History: l.name, Captures: len(l.steps), Updates: len(l.updates), Told: map[string]int{}, Silent: map[string]int{}}
	var seen []document
	for n, s := range l.steps {
		seen = append(seen, see(s.body))
		if s.Err != nil {
			h.Unread++
			continue
		}
		if s.base < 0 {
			continue
		}
		sees := seesBetween(seen[s.base], seen[n])
		if s.Update == nil {
			h.Silent[sees]++
			continue
		}
		h.Kind = s.Update.Kind.String()
		h.Told[sees]++
		h.Bytes.add(s)
	}
	h.Silence = l.silence(seen)
	h.Entries, h.Patches, h.Speed = l.entries(seen), l.patches(), l.speed()
	var err error
	h.Tools, err = runTools(tools, l.steps)
	return h, err
}

// add counts an update, and times its delta once more.
func (b *byteFigures) add(s step) {
	var delta []byte
	var err error
	b.Make += cpuSeconds(func() { delta = deltas.MakeDelta(s.current, s.Core) })
	b.Apply += cpuSeconds(func() { _, err = deltas.ApplyDelta(s.current, delta) })
	b.Documents += len(s.body)
	b.Contents += len(s.Core.Content())
	b.Deltas += len(delta)
	if s.Patch != nil || err != nil {
		b.PatchErrors++
	}
}

// entries compares the entries reported with those that feed readers see for the
// first time; nil for what is no feed.
func (l *life) entries(seen []document) *entryFigures {
	e := new(entryFigures)
	known, reported := make(map[string]bool), make(map[string]int)
	feed := false
	for n, s := range l.steps {
		fresh := 0
		for _, id := range seen[n].ids {
			feed = true
			if !known[id] {
				known[id] = true
				fresh++
			}
		}
		if s.base < 0 {
			continue
		}
		e.Shown += fresh
		told := 0
		if s.Update != nil {
			for _, entry := range s.Update.Entries.Added {
				if reported[entry.ID]++; reported[entry.ID] > 1 {
					e.Twice++
				}
				told++
			}
		}
		e.Missing += max(fresh-told, 0)
		e.Twice += max(told-fresh, 0)
	}
	if !feed {
		return nil
	}
	return e
}
