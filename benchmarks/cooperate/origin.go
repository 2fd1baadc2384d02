//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/arrival"
)

// channelPath is where the origin's channels are, by number.
const channelPath = "/c/"

// poll is one request for a channel.
type poll struct {
	at       time.Duration // since the beginning, when the kernel received it
	channel  int32
	revision int32 // that it was shown
	node     int8  // that asked
	full     bool  // it was answered with 200
}

// origin serves feeds to which entries are added, and notes all polls.
type origin struct {
	*http.Server
	log      *arrival.Log
	began    time.Time
	nodes    map[string]int8 // by address
	channels int
	entries  int       // of each document
	updates  []float64 // seconds between two of each channel, where that is known; nil: it is not

	mu struct {
		sync.Mutex
		polls     []poll
		revisions []int32
		changed   [][]time.Duration // of each channel, when revisions 2 and on came
		frozen    bool
		bytes     int64 // of documents sent
		sent      int64 // documents
	}
}

func newOrigin(began time.Time, places []place, entries int, nodes map[string]int8) *origin {
	channels := len(places)
	o := &origin{log: arrival.NewLog(began), began: began, nodes: nodes, channels: channels, entries: entries}
	o.mu.revisions, o.mu.changed, o.mu.frozen = make([]int32, channels), make([][]time.Duration, channels), true
	for n := range o.mu.revisions {
		o.mu.revisions[n] = 1
	}
	for _, p := range places {
		if p.updateS > 0 {
			o.updates = append(o.updates, p.updateS)
		}
	}
	o.Server = &http.Server{Handler: o, ConnContext: arrival.WithConn, ReadHeaderTimeout: time.Minute}
	return o
}

// listen listens at all addresses of hosts.
func (o *origin) listen(ctx context.Context) (net.Listener, error) {
	return arrival.Listen(ctx, fmt.Sprintf("0.0.0.0:%d", originPort))
}

func (o *origin) now() time.Duration { return time.Since(o.began) }

// ServeHTTP implements [http.Handler].
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, channelPath))
	address, at := o.log.Note(r)
	node, known := o.nodes[address]
	if err != nil || number < 0 || number >= o.channels || !known {
		http.NotFound(w, r)
		return
	}
	revision, full := o.show(poll{at: at, channel: int32(number), node: node}, r.Header.Get("If-None-Match"))
	w.Header().Set("ETag", tag(revision))
	w.Header().Set("Content-Type", "application/rss+xml")
	if !full {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := document(number, int(revision), o.entries, o.dates(number))
	o.count(len(body))
	_, _ = w.Write(body) // a killed node does not read on
}

func tag(revision int32) string { return fmt.Sprintf(`"r%d"`, revision) }

// show notes a poll and decides what it is shown.
func (o *origin) show(made poll, have string) (revision int32, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	made.revision = o.mu.revisions[made.channel]
	made.full = have != tag(made.revision)
	o.mu.polls = append(o.mu.polls, made)
	return made.revision, made.full
}

func (o *origin) count(bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.bytes += int64(bytes)
	o.mu.sent++
}

// change lets channels change at random, so many times a second, until the context ends.
func (o *origin) change(ctx context.Context, perSecond float64, seed uint64) {
	if perSecond <= 0 {
		return
	}
	random, pick := rand.New(rand.NewPCG(seed, 1)), o.picker()
	next := o.now()
	for ctx.Err() == nil {
		next += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
		pause(ctx, next-o.now())
		o.grow(pick(random))
	}
}

// grow adds an entry to a channel, unless the origin is frozen.
func (o *origin) grow(number int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.mu.frozen {
		o.mu.revisions[number]++
		o.mu.changed[number] = append(o.mu.changed[number], o.now())
	}
}

// freeze stops all change, or lets it begin.
func (o *origin) freeze(frozen bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.frozen = frozen
}

// polled returns all polls so far.
func (o *origin) polled() []poll {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.polls[:len(o.mu.polls):len(o.mu.polls)]
}

// asked is how many channels have been asked for.
func (o *origin) asked() int {
	seen := make(map[int32]bool)
	for _, p := range o.polled() {
		seen[p.channel] = true
	}
	return len(seen)
}

// changes returns when revisions 2 and on of each channel came; what was returned changes
// no more once the origin is frozen.
func (o *origin) changes() [][]time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.changed
}

// size is the mean of the documents that were sent, in bytes.
func (o *origin) size() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return float64(o.mu.bytes) / float64(max(o.mu.sent, 1))
}

// A document has at most the newest window entries: 28 KB, as the feed of a newspaper that is among
// the recorded histories, whose deltas have 180 bytes too.
const window = 65

// document returns a channel's feed, of so many entries, at a revision. Entry n comes with revision n; those
// before the first revision have numbers below 1. dates says when entries came, and may be nil.
func document(number, revision, entries int, dates func(entry int) time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>Channel %d</title>\n", number)
	for entry := revision; entry > revision-entries; entry-- {
		random := rand.New(rand.NewPCG(uint64(number), uint64(entry)+window))
		fmt.Fprintf(&b, "<item>\n<title>%s</title>\n<guid isPermaLink=\"false\">%s</guid>\n<link>http://news.example/%d/%d</link>\n<description>%s</description>\n",
			words(random, 8), entryID(number, entry), number, entry+window, words(random, 50))
		if dates != nil {
			fmt.Fprintf(&b, "<pubDate>%s</pubDate>\n", dates(entry).UTC().Format(time.RFC1123Z))
		}
		b.WriteString("</item>\n")
	}
	b.WriteString("</channel></rss>\n")
	return []byte(b.String())
}

func entryID(number, entry int) string { return fmt.Sprintf("e-%d-%d", number, entry+window) }

// parseEntry is the inverse of entryID.
func parseEntry(id string) (number, entry int, err error) {
	if _, err := fmt.Sscanf(id, "e-%d-%d", &number, &entry); err != nil {
		return 0, 0, fmt.Errorf("entry %q: %w", id, err)
	}
	return number, entry - window, nil
}

// words returns words of three to nine letters, of 4,000 different ones.
func words(random *rand.Rand, n int) string {
	const syllables = "ba ce di fo gu la me ni po ru sa te vi wo zu ka le mi no pu"
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		for word, left := random.IntN(4000), 1+random.IntN(3); left > 0; word, left = word/20, left-1 {
			b.WriteString(syllables[3*(word%20) : 3*(word%20)+2])
		}
	}
	return b.String()
}

// pause waits, or returns when the context ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
