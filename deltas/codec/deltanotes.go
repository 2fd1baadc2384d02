package codec

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// datedNote is a note with its dates in seconds since 1970.
type datedNote struct{ place, published, updated int }

// noDate stands for a date that is missing.
const noDate = math.MinInt

const daySeconds = 24 * 60 * 60

// dated returns the notes' entries with their dates; false if one is not written
// as [content.ClampDate] writes it.
func dated(n content.Notes) ([]datedNote, bool) {
	all := make([]datedNote, len(n.Entries))
	for i, e := range n.Entries {
		published, ok := dateSeconds(e.Published)
		updated, ok2 := dateSeconds(e.Updated)
		if !ok || !ok2 {
			return nil, false
		}
		all[i] = datedNote{e.Place, published, updated}
	}
	return all, true
}

func dateSeconds(s string) (int, bool) {
	if s == "" {
		return noDate, true
	}
	t, err := time.Parse(time.RFC3339, s)
	return int(t.Unix()), err == nil && content.ClampDate(&t, "") == s
}

func dateText(seconds int) string {
	if seconds == noDate {
		return ""
	}
	t := time.Unix(int64(seconds), 0)
	return content.ClampDate(&t, "")
}

// undated is the inverse of dated.
func undated(all []datedNote) []content.Note {
	entries := make([]content.Note, len(all))
	for i, d := range all {
		entries[i] = content.Note{Place: d.place, Published: dateText(d.published), Updated: dateText(d.updated)}
	}
	return entries
}

// codeNotes codes notes and returns what it coded.
func codeNotes(c coder, in []datedNote) []datedNote {
	var counts, places numbers
	dates := dateCoder{coder: c, day: firstDay}
	count := min(counts.code(c, len(in)), content.MaxEntries)
	out := make([]datedNote, 0, count)
	place := -1
	for i := range count {
		var e datedNote
		if i < len(in) {
			e = in[i]
		}
		place += 1 + unzigzag(places.code(c, zigzag(e.place-place-1)))
		published := dates.code(e.published, noDate)
		out = append(out, datedNote{place, published, dates.code(e.updated, published)})
	}
	return out
}

// dateCoder codes dates: the day against the last one coded.
type dateCoder struct {
	coder
	kinds, days, seconds numbers
	day                  int
}

// firstDay is what the first day of a delta is coded against: 2020.
const firstDay = 50 * 365

// The kinds of date.
const (
	dateNone = iota
	dateSame // as the other one of its entry
	dateOwn
)

func (d *dateCoder) code(date, other int) int {
	kind := dateOwn
	switch date {
	case noDate:
		kind = dateNone
	case other:
		kind = dateSame
	}
	switch d.kinds.code(d.coder, kind) {
	case dateNone:
		return noDate
	case dateSame:
		return other
	}
	day := date / daySeconds
	if date%daySeconds < 0 {
		day--
	}
	second := d.seconds.code(d.coder, date-day*daySeconds)
	d.day += unzigzag(d.days.code(d.coder, zigzag(day-d.day)))
	return d.day*daySeconds + second
}

// codeFeed codes the URL of a page's feed, or only that it is the known one.
func codeFeed(c coder, feed, known string) string {
	var lengths numbers
	length := 0
	if feed != known {
		length = len(feed) + 1
	}
	if length = lengths.code(c, length); length == 0 {
		return known
	}
	coded := make([]byte, 0, min(length-1, 2*content.MaxFeedURL))
	for i := range cap(coded) {
		value := byte(0)
		if i < len(feed) {
			value = feed[i]
		}
		var b byte
		for bit := 7; bit >= 0; bit-- {
			b = b<<1 | byte(c.code(int(value>>bit&1), 1<<15))
		}
		coded = append(coded, b)
	}
	return string(coded)
}

// zigzag makes small numbers of either sign small numbers.
func zigzag(n int) int {
	if n < 0 {
		return -2*n - 1
	}
	return 2 * n
}

func unzigzag(n int) int {
	if n%2 == 1 {
		return -(n + 1) / 2
	}
	return n / 2
}
