package loadgen

import (
	"strconv"
	"strings"
	"time"
)

// Format is the form of a synthetic channel's documents.
type Format uint8

// The formats.
const (
	RSS Format = iota
	Atom
	JSONFeed
	HTML
	formats
)

var formatNames = [formats]string{"rss", "atom", "json", "html"}

// String returns the format's file extension: rss, atom, json or html.
func (f Format) String() string { return formatNames[f] }

var contentTypes = [formats]string{
	"application/rss+xml; charset=utf-8",
	"application/atom+xml; charset=utf-8",
	"application/feed+json",
	"text/html; charset=utf-8",
}

// ContentType returns the format's media type, as the HTTP header has it.
func (f Format) ContentType() string { return contentTypes[f] }

// Content makes the documents of a [Schedule]'s channels. A document is a pure
// function of seed, channel and revision: a window over a sequence of entries,
// to which every revision adds one, and an eighth of them edits the title of the
// entry before. Dates in documents are the schedule's time after [Epoch].
//
// Ten entries and 8 KB are the median of feeds (Cobra, NSDI 2007, section 4); a
// page of HTML has 20 to 70 KB.
//
// With a Window, documents are RSS feeds of so many short entries, and nothing in them is ever
// edited.
type Content struct {
	Schedule
	Window int // 0: as above
}

// Epoch is the date that documents give to the schedule's start.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shape is what all revisions of a channel's document have in common.
type shape struct {
	format Format
	window int // entries in the document
	words  int // words in an entry's summary
}

// The shares of formats.
const (
	shareRSS  = 0.65
	shareAtom = 0.20
	shareJSON = 0.05
)

// The quantiles of entries and of words per summary, of feeds and of pages.
var (
	windows          = [...]int{5, 8, 10, 10, 10, 10, 15, 20, 30, 50}
	summaryWords     = [...]int{10, 25, 40, 60, 80, 90, 110, 150, 220, 400}
	pageWindows      = [...]int{20, 25, 30, 40}
	pageSummaryWords = [...]int{60, 90, 120, 160}
)

// Format returns the format of a channel's documents: 65 % RSS 2.0, 20 % Atom,
// 5 % JSON Feed, 10 % HTML.
func (c Content) Format(channel int) Format {
	if c.Window > 0 {
		return RSS
	}
	switch u := unit(c.hash(channel, saltShape, 0)); {
	case u < shareRSS:
		return RSS
	case u < shareRSS+shareAtom:
		return Atom
	case u < shareRSS+shareAtom+shareJSON:
		return JSONFeed
	}
	return HTML
}

func (c Content) shape(channel int) shape {
	if c.Window > 0 {
		return shape{RSS, c.Window, 2}
	}
	random := source(c.hash(channel, saltShape, 1))
	if c.Format(channel) == HTML {
		return shape{HTML, pageWindows[random.intn(len(pageWindows))], pageSummaryWords[random.intn(len(pageSummaryWords))]}
	}
	return shape{c.Format(channel), windows[random.intn(len(windows))], summaryWords[random.intn(len(summaryWords))]}
}

// AppendDocument appends the document of a channel at a revision, 1 or later.
func (c Content) AppendDocument(dst []byte, channel int, revision int64) []byte {
	d := document{Content: c, channel: channel, revision: revision, shape: c.shape(channel)}
	switch d.format {
	case RSS:
		return d.appendRSS(dst)
	case Atom:
		return d.appendAtom(dst)
	case JSONFeed:
		return d.appendJSON(dst)
	}
	return d.appendHTML(dst)
}

// Tag returns what tells a channel's revision from every other in an ETag.
func (c Content) Tag(channel int, revision int64) uint64 { return c.hash(channel, saltTag, revision) }

// document is one document on its way out. Its text holds nothing that XML,
// HTML or JSON would escape.
type document struct {
	Content
	shape
	channel  int
	revision int64
}

// firstEntryNumber is the public number of the entry that came with revision 1;
// those of the first window that are older have smaller ones.
const firstEntryNumber = 1000

func (d *document) appendSite(dst []byte) []byte {
	dst = append(dst, "https://site-"...)
	dst = strconv.AppendInt(dst, int64(d.channel), 10)
	return append(dst, ".example/"...)
}

// post is what the number of an entry follows in its link.
const post = "/posts/"

func (d *document) appendLink(dst []byte, entry int64) []byte {
	dst = append(d.appendSite(dst), post[1:]...)
	return strconv.AppendInt(dst, firstEntryNumber+entry-1, 10)
}

// EntryLink returns the link of the entry that a synthetic channel's revision brings.
func EntryLink(channel int, revision int64) string {
	return string((&document{channel: channel}).appendLink(nil, revision))
}

// LinkedRevision returns the revision that brought the entry of the first link in a text.
func LinkedRevision(text string) (revision int64, found bool) {
	_, number, found := strings.Cut(text, post)
	if !found {
		return 0, false
	}
	end := 0
	for end < len(number) && '0' <= number[end] && number[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(number[:end], 10, 64)
	return n - firstEntryNumber + 1, err == nil
}

func (d *document) appendName(dst []byte) []byte {
	random := source(d.hash(d.channel, saltShape, 2))
	return random.appendWords(dst, 2+random.intn(3))
}

// appendTitle appends an entry's title: another one once it was edited.
func (d *document) appendTitle(dst []byte, entry int64) []byte {
	salt := uint64(saltEntry)
	if entry < d.revision && d.edits(entry+1) {
		salt = saltEdit
	}
	random := source(d.hash(d.channel, salt, entry))
	return random.appendWords(dst, 4+random.intn(7))
}

// edits reports whether a revision edits the title of the entry before its own.
func (d *document) edits(revision int64) bool {
	return revision > 1 && d.Window == 0 && d.hash(d.channel, saltEdit, -revision)%8 == 0
}

func (d *document) appendSummary(dst []byte, entry int64) []byte {
	random := source(^d.hash(d.channel, saltEntry, entry))
	return random.appendSentences(dst, 1+d.words/2+random.intn(d.words))
}

func (d *document) appendDate(dst []byte, revision int64, layout string) []byte {
	return Epoch.Add(d.ChangedAt(d.channel, revision)).AppendFormat(dst, layout)
}

// entries yields the window's entries, newest first. An entry bears the number
// of the revision that it came with; the first window reaches back before 1.
func (d *document) entries(yield func(entry int64) bool) {
	for i := range d.window {
		if !yield(d.revision - int64(i)) {
			return
		}
	}
}
