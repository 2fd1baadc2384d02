//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// figures are all that the command finds.
type figures struct {
	Histories []*historyFigures `json:"histories"`
	Extracts  []extractFigures  `json:"extracts"`
	Total     *historyFigures   `json:"total"`
	TotalRest *historyFigures   `json:"total_without_json"`
	Feeds     []feedFigures     `json:"feeds,omitempty"`
	Worlds    []worldFigures    `json:"worlds,omitempty"`
	Checks    []check           `json:"checks"`
}

// check is a promise and what was found.
type check struct {
	Promise string  `json:"promise"`
	Found   float64 `json:"found"`
	Limit   float64 `json:"limit"`
	Holds   bool    `json:"holds"`
}

// sum adds the histories up and holds them against what is promised.
func (f *figures) sum() {
	f.Total, f.TotalRest = newTotal("all"), newTotal("all but JSON")
	for _, h := range f.Histories {
		f.Total.plus(h)
		if h.Kind != "json" {
			f.TotalRest.plus(h)
		}
	}
	t := f.Total
	f.most("entries not reported", t.Entries.Missing, 1, 0)
	f.most("entries reported twice", t.Entries.Twice, 1, 0)
	f.most("deltas that do not make the new content of the old", t.Bytes.PatchErrors, 1, 0)
	f.most("deltas between any captures that do not", t.Patches.Errors, 1, 0)
	f.most("updates that show a person nothing, of updates", t.Told[seesNothing], t.Updates, 0.01)
	f.most("bytes of deltas, of documents but JSON", f.TotalRest.Bytes.Deltas, f.TotalRest.Bytes.Documents, 0.02)
	if len(t.Tools) > 0 {
		f.most("bytes of deltas, of what "+t.Tools[0].Tool+" makes of the contents", t.Bytes.Deltas, t.Tools[0].Bytes, 0.8)
	}
	f.holds("allocations for an unchanged body", t.Speed.Allocs, 0)
	f.sumFeeds()
	for _, e := range f.Extracts {
		f.least(e.History+": precision against the extract", e.Precision, 0.9)
		f.least(e.History+": recall against the extract", e.Recall, 0.9)
	}
}

// sumFeeds holds the collection's documents against what is promised of each.
func (f *figures) sumFeeds() {
	if len(f.Feeds) == 0 {
		return
	}
	untyped, milliseconds, allocated := 0, 0.0, uint64(0)
	for _, d := range f.Feeds {
		untyped += map[bool]int{false: 1}[d.typed]
		milliseconds, allocated = max(milliseconds, d.Milliseconds), max(allocated, d.Allocated)
	}
	f.most("documents of the collection with neither a result nor a typed error", untyped, 1, 0)
	f.holds("milliseconds of processor for any of them", milliseconds, 100)
	f.holds("MiB allocated for any of them", float64(allocated)/(1<<20), 64)
}

func (f *figures) holds(promise string, found, limit float64) {
	f.Checks = append(f.Checks, check{promise, found, limit, found <= limit})
}

func (f *figures) most(promise string, part, whole int, limit float64) {
	f.holds(promise, float64(part)/float64(max(whole, 1)), limit)
}

func (f *figures) least(promise string, found, limit float64) {
	f.Checks = append(f.Checks, check{promise, found, limit, found >= limit})
}

func (f *figures) hold() bool {
	return !slices.ContainsFunc(f.Checks, func(c check) bool { return !c.Holds })
}

func (f *figures) write(file string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func (f *figures) print(w io.Writer) {
	if len(f.Feeds) > 0 {
		printFeeds(w, f.Feeds)
	}
	f.Total.print(w)
	f.TotalRest.print(w)
	for _, e := range f.Extracts {
		fmt.Fprintf(w, "%s against its extract, from capture %d: %d updates, %d mattered, %d both\n", e.History, learning, e.Updates, e.Mattered, e.Both)
	}
	for _, c := range f.Checks {
		fmt.Fprintf(w, "%-8s %s: %.4g (%g)\n", map[bool]string{true: "holds", false: "BROKEN"}[c.Holds], c.Promise, c.Found, c.Limit)
	}
}

func newTotal(name string) *historyFigures {
	return &historyFigures{History: name, Entries: &entryFigures{}, Told: map[string]int{}, Silent: map[string]int{}}
}

func (h *historyFigures) plus(o *historyFigures) {
	h.Captures, h.Updates, h.Unread = h.Captures+o.Captures, h.Updates+o.Updates, h.Unread+o.Unread
	if e := o.Entries; e != nil {
		h.Entries.Shown, h.Entries.Missing, h.Entries.Twice = h.Entries.Shown+e.Shown, h.Entries.Missing+e.Missing, h.Entries.Twice+e.Twice
	}
	for sees, n := range o.Told {
		h.Told[sees] += n
	}
	for sees, n := range o.Silent {
		h.Silent[sees] += n
	}
	h.Silence.plus(o.Silence)
	h.Bytes.plus(o.Bytes)
	h.Patches.plus(o.Patches)
	h.Speed.plus(o.Speed)
	for i, tool := range o.Tools {
		if i == len(h.Tools) {
			h.Tools = append(h.Tools, toolFigures{Tool: tool.Tool})
		}
		h.Tools[i].Bytes += tool.Bytes
		h.Tools[i].Seconds += tool.Seconds
	}
}

func (b *byteFigures) plus(o byteFigures) {
	b.Documents, b.Contents, b.Deltas, b.PatchErrors = b.Documents+o.Documents, b.Contents+o.Contents, b.Deltas+o.Deltas, b.PatchErrors+o.PatchErrors
	b.Make, b.Apply = b.Make+o.Make, b.Apply+o.Apply
}

func (h *historyFigures) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d captures, %d updates, %d unread\n", h.History, h.Captures, h.Updates, h.Unread)
	if e := h.Entries; e != nil {
		fmt.Fprintf(w, "  entries %d, %d missing, %d twice\n", e.Shown, e.Missing, e.Twice)
	}
	fmt.Fprintf(w, "  a person sees other words, digits, links, nothing: %s of the updates, %s of the others\n", levels(h.Told), levels(h.Silent))
	h.Silence.print(w)
	b := h.Bytes
	fmt.Fprintf(w, "  deltas %d bytes, %.2f %% of documents, %.2f %% of contents; made in %.2f ms each, applied in %.2f; %d patch errors\n", b.Deltas,
		percent(b.Deltas, b.Documents), percent(b.Deltas, b.Contents), 1000*b.Make/float64(max(h.Updates, 1)), 1000*b.Apply/float64(max(h.Updates, 1)), b.PatchErrors)
	for _, t := range h.Tools {
		fmt.Fprintf(w, "  %-22s %d bytes, %.2f %% of documents, %.2f ms each; deltas take %.2f of its bytes\n", t.Tool, t.Bytes, percent(t.Bytes, b.Documents), 1000*t.Seconds/float64(max(h.Updates, 1)),
			float64(b.Deltas)/float64(max(t.Bytes, 1)))
	}
	h.Patches.print(w)
	h.Speed.print(w)
}

func levels(n map[string]int) string {
	return fmt.Sprintf("%d, %d, %d, %d", n[seesWords], n[seesDigits], n[seesLinks], n[seesNothing])
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
