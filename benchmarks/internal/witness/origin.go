package witness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// Origin lets the feeds of a load generator's origin change, to which entries are added until it
// is frozen. A feed shows the newest window entries. Those of anchored channels wait before an
// entry could leave the window that has not been delivered: so each must arrive.
type Origin struct {
	*loadgen.Origin
	recorder *Recorder
	listener net.Listener
	polled   func(loadgen.Poll) // nil: nobody else is told
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
	count   int            // entries added
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
)

// means are the feeds' mean times between entries: one that changes with every
// poll, one with some, one that stands for many.
var means = [...]time.Duration{400 * time.Millisecond, 1500 * time.Millisecond, 6 * time.Second}

// NewOrigin makes an origin of so many channels, those first that are to be anchored, which is to
// be served on a listener. Each fourth channel is known by dates alone. polled is told of polls
// before they are answered; it may be nil.
func NewOrigin(listener net.Listener, r *Recorder, anchored, passing int, seed uint64, polled func(loadgen.Poll)) (*Origin, error) {
	o := &Origin{recorder: r, listener: listener, polled: polled}
	var err error
	o.Origin, err = loadgen.NewOrigin(loadgen.Config{
		Listen: listener.Addr().String(), Given: true, Channels: anchored + passing, Seed: seed,
		Window: window, Still: true, Dated: func(n int) bool { return n%4 == 3 }, Observe: o.observe,
	})
	if err != nil {
		return nil, err
	}
	for n := range anchored + passing {
		url := o.URL(n)
		record := &ChannelRecord{Number: n, URL: url, ID: channel.IDOf(url), Added: []Instant{r.Now()}}
		f := &feed{record: record, limited: n < anchored, mean: means[n%len(means)], count: 1, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		r.With(func(h *History) { h.Channels = append(h.Channels, record) })
		o.mu.feeds = append(o.mu.feeds, f)
	}
	return o, nil
}

// Run serves and adds entries until the context ends.
func (o *Origin) Run(ctx context.Context) error {
	var adding sync.WaitGroup
	defer adding.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	adding.Go(func() {
		for ctx.Err() == nil {
			Pause(ctx, tick)
			o.advance(o.recorder.Now())
		}
	})
	return o.Serve(ctx, o.listener)
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

// add adds an entry, which is in the history before it can be seen.
func (o *Origin) add(f *feed) {
	f.count++
	o.recorder.With(func(*History) { f.record.Added = append(f.record.Added, o.recorder.Now()) })
	o.Change(f.record.Number, time.Now())
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

// answersKept is how many of its last answers a channel remembers.
const answersKept = 8

// observe notes a poll right before it is answered.
func (o *Origin) observe(p loadgen.Poll) {
	if o.polled != nil {
		o.polled(p)
	}
	o.mu.Lock()
	f := o.mu.feeds[p.Channel]
	if p.Status == http.StatusOK {
		f.sent = o.recorder.Now()
	}
	o.mu.Unlock()
	line := fmt.Sprintf("%s %d at entry %d to %s", o.recorder.Now().Round(time.Millisecond), p.Status, p.Revision, p.From)
	o.recorder.With(func(*History) {
		f.record.Answers = append(f.record.Answers, line)
		if extra := len(f.record.Answers) - answersKept; extra > 0 {
			f.record.Answers = f.record.Answers[extra:]
		}
	})
	if p.Status == http.StatusOK {
		o.recorder.happened(momentDocument)
	}
}
