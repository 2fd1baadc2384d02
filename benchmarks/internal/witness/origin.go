package witness

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

	"github.com/seed-91e7e7c1/corona/channel"
)

// Origin serves feeds to which numbered entries are added until it is frozen. A
// feed shows the newest window entries. Those of anchored channels wait before an
// entry could leave the window that has not been delivered: so each must arrive.
type Origin struct {
	recorder *Recorder
	Server   *http.Server // to be served by the caller
	url      string       // without a slash at the end
	mu       struct {
		sync.Mutex
		frozen bool
		feeds  []*feed
	}
}

// feed is one channel at its origin.
type feed struct {
	record  *ChannelRecord // its Added and Answers are guarded by the recorder
	limited bool           // waits for what was delivered
	mean    time.Duration  // between entries
	dated   bool           // tells Last-Modified and no ETag
	count   int            // entries added
	changed time.Time      // when the last one was
	next    Instant
	seen    int     // the newest entry known to be delivered, or in the first content
	sent    Instant // when the last document was sent
	resting bool    // changes no more until the next check
	random  *rand.Rand
}

const (
	window      = 120 // entries in a document
	aheadMost   = 60  // entries that a feed may be ahead of what was delivered
	tick        = 25 * time.Millisecond
	throughNode = 50 * time.Millisecond // from a document to its delivery
	firstCount  = 5                     // entries at the start
)

// means are the feeds' mean times between entries: one that changes with every
// poll, one with some, one that stands for many.
var means = [...]time.Duration{400 * time.Millisecond, 1500 * time.Millisecond, 6 * time.Second}

// NewOrigin makes an origin of so many channels, those first that are to be
// anchored.
func NewOrigin(listener net.Listener, r *Recorder, anchored, passing int, seed uint64) *Origin {
	o := &Origin{recorder: r, url: "http://" + listener.Addr().String()}
	for n := range anchored + passing {
		url := fmt.Sprintf("%s/c/%d", o.url, n)
		record := &ChannelRecord{Number: n, URL: url, ID: channel.IDOf(url)}
		f := &feed{record: record, limited: n < anchored, mean: means[n%len(means)], dated: n%4 == 3, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		r.With(func(h *History) { h.Channels = append(h.Channels, record) })
		for range firstCount {
			o.add(f)
		}
		o.mu.feeds = append(o.mu.feeds, f)
	}
	o.Server = &http.Server{Handler: o, ReadHeaderTimeout: time.Minute}
	return o
}

// Run adds entries until the context ends.
func (o *Origin) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			o.advance(o.recorder.Now())
		}
	}
}

// advance adds the entries that are due.
func (o *Origin) advance(now Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.mu.feeds {
		if o.mu.frozen || f.resting || now < f.next || f.limited && f.count-f.seen >= aheadMost {
			continue
		}
		o.add(f)
		f.next = now + time.Duration(f.random.ExpFloat64()*float64(f.mean))
	}
}

func (o *Origin) add(f *feed) {
	f.count++
	f.changed = time.Now()
	o.recorder.With(func(*History) { f.record.Added = append(f.record.Added, o.recorder.Now()) })
}

// Freeze stops all change, or lets it go on everywhere.
func (o *Origin) Freeze(frozen bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.frozen = frozen
	for _, f := range o.mu.feeds {
		f.resting = f.resting && frozen
	}
}

// Rest stops the change of those feeds whose documents may have been on their way
// through the node when it was killed: their next change would bring what that
// one lost, and hide it.
func (o *Origin) Rest(killed Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.mu.feeds {
		f.resting = f.resting || f.sent > killed-throughNode
	}
}

// FirstSeen tells that a channel has its first content; what is added from now on
// must be delivered.
func (o *Origin) FirstSeen(number int, at Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.mu.feeds[number]
	o.recorder.With(func(*History) {
		if f.record.FirstSeen == 0 {
			f.record.FirstSeen = at
			f.seen = max(f.seen, f.record.addedBy(at))
		}
	})
}

// ServeHTTP implements [http.Handler].
func (o *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/c/"))
	o.mu.Lock()
	if err != nil || number < 0 || number >= len(o.mu.feeds) {
		o.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	f := o.mu.feeds[number]
	count, modified := f.count, setValidators(w.Header(), f.dated, f.count, f.changed, r)
	if modified {
		f.sent = o.recorder.Now()
	}
	o.mu.Unlock()
	status := http.StatusOK
	if !modified {
		status = http.StatusNotModified
	}
	o.log(f, r, status, count)
	w.Header().Set("Content-Type", "application/rss+xml")
	w.WriteHeader(status)
	if modified {
		_, _ = w.Write(document(number, count)) // a killed node does not read on
		o.recorder.happened(momentDocument)
	}
}

// setValidators tells what the document can be known by, and reports whether the
// request does not know it yet. A dated feed tells its date only once the second
// is over, since another entry might bear the same (RFC 9110, section 8.8.2.2).
func setValidators(header http.Header, dated bool, count int, changed time.Time, r *http.Request) (modified bool) {
	if !dated {
		etag := fmt.Sprintf(`"e%d"`, count)
		header.Set("ETag", etag)
		return r.Header.Get("If-None-Match") != etag
	}
	changed = changed.Truncate(time.Second)
	if time.Since(changed) < time.Second {
		return true
	}
	header.Set("Last-Modified", changed.UTC().Format(http.TimeFormat))
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err != nil || changed.After(since)
}

// answersKept is how many of its last answers a channel remembers.
const answersKept = 8

func (o *Origin) log(f *feed, r *http.Request, status, count int) {
	line := fmt.Sprintf("%s %d at entry %d to %q%q", o.recorder.Now().Round(time.Millisecond), status, count,
		r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since"))
	o.recorder.With(func(*History) {
		f.record.Answers = append(f.record.Answers, line)
		if extra := len(f.record.Answers) - answersKept; extra > 0 {
			f.record.Answers = f.record.Answers[extra:]
		}
	})
}

// document returns the feed with entries up to count.
func document(number, count int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>Channel %d</title>\n", number)
	for entry := count; entry > max(count-window, 0); entry-- {
		fmt.Fprintf(&b, "<item><title>%s</title><guid isPermaLink=\"false\">%s</guid></item>\n",
			entryTitle(number, entry), entryID(number, entry))
	}
	b.WriteString("</channel></rss>\n")
	return []byte(b.String())
}
