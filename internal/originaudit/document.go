package originaudit

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Document is a healthy feed. The zero value has one entry, and validators that no
// reader could make up. Its fields are set before it is served.
type Document struct {
	Fields Fields // beside the validators, in 200 and 304 alike
	Hints  Hints  // stand in the feed as ttl, skipHours and skipDays

	// Pair returns the validators of a revision, counted from 0. nil: both, in forms
	// that only a copy keeps.
	Pair func(revision int) Pair

	// Flips gives each 200 other validators of the same content.
	Flips bool

	// Deltas answers A-IM: feed with the new entries alone (RFC 3229).
	Deltas bool

	mu struct {
		sync.Mutex
		revision, flips int
	}
}

// Grow adds an entry.
func (d *Document) Grow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.revision++
}

// Answer is the document's script: 304 to a reader with the latest validators byte for
// byte, else 200.
func (d *Document) Answer(v Visit) Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	pair := d.pair(d.mu.revision)
	if d.matches(v, pair) {
		return Answer{Said: Said{Status: 304, Fields: append(validators(pair), d.Fields...)}}
	}
	if d.Flips {
		d.mu.flips++
		pair = d.pair(d.mu.revision)
	}
	answer := Answer{Said: Said{Status: 200, Fields: append(validators(pair), d.Fields...), Hints: d.Hints}, Body: d.body(0)}
	if known := d.revisionOf(v); d.Deltas && known >= 0 && strings.Contains(v.Fields.Get("A-IM"), "feed") {
		answer.Status, answer.Body = 226, d.body(known+1)
		answer.Fields = append(answer.Fields, Field{"IM", "feed"})
	}
	answer.Fields = append(answer.Fields, Field{"Content-Type", "application/rss+xml"})
	return answer
}

func (d *Document) pair(revision int) Pair {
	if d.Pair != nil {
		return d.Pair(revision)
	}
	// An odd date and an ETag with what is easily trimmed or unescaped.
	return Pair{
		ETag:         fmt.Sprintf(`W/"r%d-%d;gzip=%%22a%%22+/="`, revision, d.mu.flips),
		LastModified: time.Date(2026, time.November, 1, 10, revision, d.mu.flips, 0, time.UTC).Format("Monday, 2-Jan-06 15:04:05 GMT"),
	}
}

// matches compares what was sent with what would be given: the ETag if there is
// one, else the date, as bytes.
func (d *Document) matches(v Visit, pair Pair) bool {
	if tag := v.Fields.Get("If-None-Match"); tag != "" {
		return tag == pair.ETag && !d.Flips
	}
	date := v.Fields.Get("If-Modified-Since")
	return date != "" && date == pair.LastModified && !d.Flips
}

// revisionOf returns the revision that a visit has, −1 if that cannot be told.
func (d *Document) revisionOf(v Visit) int {
	tag := v.Fields.Get("If-None-Match")
	for revision := range d.mu.revision {
		if tag != "" && d.pair(revision).ETag == tag {
			return revision
		}
	}
	return -1
}

func validators(pair Pair) (fields Fields) {
	if pair.ETag != "" {
		fields = append(fields, Field{"ETag", pair.ETag})
	}
	if pair.LastModified != "" {
		fields = append(fields, Field{"Last-Modified", pair.LastModified})
	}
	return fields
}

// body returns the feed with the entries since a revision, the newest first.
func (d *Document) body(since int) []byte {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>Feed</title><link>http://example.com/</link>\n")
	if minutes := int(d.Hints.Every / time.Minute); minutes > 0 {
		fmt.Fprintf(&b, "<ttl>%d</ttl>\n", minutes)
	}
	writeAll(&b, "skipHours", "hour", d.Hints.SkipHours)
	writeAll(&b, "skipDays", "day", d.Hints.SkipDays)
	for entry := d.mu.revision; entry >= since; entry-- {
		fmt.Fprintf(&b, "<item><title>Entry %d</title><guid isPermaLink=\"false\">entry-%d</guid></item>\n", entry, entry)
	}
	b.WriteString("</channel></rss>\n")
	return []byte(b.String())
}

func writeAll[T any](b *strings.Builder, list, name string, values []T) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, "<%s>", list)
	for _, value := range values {
		fmt.Fprintf(b, "<%s>%v</%s>", name, value, name)
	}
	fmt.Fprintf(b, "</%s>\n", list)
}
