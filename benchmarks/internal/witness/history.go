package witness

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// Instant is a time since the start of the run.
type Instant = time.Duration

// History is all that clients, sinks and the origin saw: what [Check] judges.
// Nothing in it comes from inside the node.
type History struct {
	Began      time.Time // the instant 0
	Several    bool      // nodes: what the disk of one does is not what all do
	Channels   []*ChannelRecord
	Subscribes []*SubscribeRecord
	Deliveries []Delivery // in order of arrival
	Streams    []*StreamRecord
	Gets       []Get
	Reads      []VersionRead
	Ends       []Instant // of processes, most of them by SIGKILL
	Faults     []*Fault
	Stacks     []string // the first line of each that a process printed
	Outages    []*Outage
	Processes  []Process // beside the first of each node
	Turns      []Instant // when leaders may begin to change: the beginnings and ends of what goes wrong
}

// ChannelRecord is a channel as its origin knows it: a feed to which entries
// 1, 2, 3, … are added, and from which none is withdrawn.
type ChannelRecord struct {
	Number int
	URL    string
	ID     channel.ID
	// Anchored channels have one subscription that is never deleted, so that they
	// never end and their versions are one sequence.
	Anchored bool
	Added    []Instant // Added[i]: when entry i+1 was added
	// FirstSeen is when a read first showed a version: what was added after it
	// must be delivered. Zero: no read did.
	FirstSeen Instant
	Answers   []string // the origin's last answers, for the message of a violation
}

// addedBy returns how many entries had been added at an instant.
func (r *ChannelRecord) addedBy(at Instant) int {
	n := 0
	for n < len(r.Added) && r.Added[n] <= at {
		n++
	}
	return n
}

// Outcome is what a client knows of a request.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // cut, timed out or 5xx: done or not done
	Acked                  // 2xx
	Refused                // 4xx
	NoSpace                // 507: not done, and worth another try later
)

// open reports whether another try makes sense.
func (o Outcome) open() bool { return o == Unknown || o == NoSpace }

// Attempt is one request and its answer.
type Attempt struct {
	Sent, Done   Instant
	Outcome      Outcome
	Status       int               // 0 without an answer
	Node         int               // that was asked: its number among the client's
	Unsent       bool              // there was no connection: surely not done
	Subscription *api.Subscription // of an acknowledged subscribe
}

// mayBeDone reports whether what was asked for may have been done.
func (a Attempt) mayBeDone() bool { return a.Outcome == Acked || a.Outcome == Unknown && !a.Unsent }

// SubscribeRecord is one wish for a subscription, with every request for it. All
// bear one key, so there must never be two subscriptions.
type SubscribeRecord struct {
	Key       string
	Channel   int // index into History.Channels
	Sink      api.Sink
	Label     string // the last element of a webhook's path, unique; with Endpoint, a name
	Endpoint  string // the last element of a path that several webhooks share; empty: it has its own
	Attempts  []Attempt
	Conflicts []Attempt // the same key with another body
	Deletes   []Attempt
}

// Acked returns the first acknowledgement, or nil.
func (r *SubscribeRecord) Acked() *Attempt { return firstAcked(r.Attempts) }

// Deleted returns the first acknowledged deletion, or nil.
func (r *SubscribeRecord) Deleted() *Attempt { return firstAcked(r.Deletes) }

func firstAcked(attempts []Attempt) *Attempt {
	for i := range attempts {
		if attempts[i].Outcome == Acked {
			return &attempts[i]
		}
	}
	return nil
}

// Delivery is one webhook as it arrived.
type Delivery struct {
	At           Instant
	From         string // the address of the node
	Label        string // the last element of the path
	WebhookID    string
	Signed       bool // rightly, where the sink has a secret
	Type         string
	Subscription string
	Update       *api.Update // of channel.updated
	Gap          *api.Gap    // of channel.gap
	Answer       int         // the status that the sink answered; 0: none
}

// The filters of a stream.
const (
	FilterNone         = "none"
	FilterChannel      = "channel"
	FilterSubscription = "subscription"
)

// StreamRecord is one reader of the event stream, over all its connections.
type StreamRecord struct {
	Filter      string
	Channel     int              // of FilterChannel
	Subscribe   *SubscribeRecord // of FilterSubscription
	Established Instant          // when the last connection without a cursor was answered; 0: none
	Connections int
	Events      []StreamEvent
}

// StreamEvent is one event of a stream.
type StreamEvent struct {
	At       Instant
	Type, ID string
	Update   *api.Update // of type update
}

// Get is one look at a subscription by its ID.
type Get struct {
	Attempt
	Subscribe *SubscribeRecord
}

// VersionRead is one look at a channel's version.
type VersionRead struct {
	Sent, Done Instant
	Channel    int
	Version    uint64
}

// Snapshot is the node's whole state by its API, while nothing is asked of it and
// nothing changes at the origin.
type Snapshot struct {
	Listing  []api.Subscription
	Channels map[channel.ID]api.Channel
	Updates  map[channel.ID][]api.Update // the latest of each anchored channel
}

// Recorder collects a History from many goroutines.
type Recorder struct {
	Began time.Time
	mu    struct {
		sync.Mutex
		history History
		updates map[string]*api.Update // by content: most arrive many times
	}
	pulses [Moments]chan struct{} // something just happened
}

// Moment is something after which it is worth to kill the node.
type Moment uint8

// The moments, and how many there are.
const (
	momentSubscribed Moment = iota
	momentDeleted
	momentDocument // the origin is about to send one
	momentDelivered
	momentStreamed
	Moments
)

// NewRecorder returns a recorder whose instant 0 is now.
func NewRecorder() *Recorder {
	r := &Recorder{Began: time.Now()}
	for m := range r.pulses {
		r.pulses[m] = make(chan struct{}, 1)
	}
	r.mu.history.Began = r.Began
	r.mu.updates = make(map[string]*api.Update)
	return r
}

// Now returns the present instant.
func (r *Recorder) Now() Instant { return time.Since(r.Began) }

// With runs a function that reads or changes the history.
func (r *Recorder) With(f func(h *History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.mu.history)
}

// happened tells whoever waits for a moment to kill at.
func (r *Recorder) happened(m Moment) {
	select {
	case r.pulses[m] <- struct{}{}:
	default:
	}
}

// Await waits for the next time that something happens, up to a limit.
func (r *Recorder) Await(ctx context.Context, m Moment, limit time.Duration) {
	select {
	case <-r.pulses[m]: // before now
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-r.pulses[m]:
	case <-ctx.Done():
	}
}

// update reads an UPDATE and returns the one of its content.
func (r *Recorder) update(data []byte) (*api.Update, error) {
	var update api.Update
	if err := json.Unmarshal(data, &update); err != nil {
		return nil, err
	}
	content, err := json.Marshal(update)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.mu.updates[string(content)]; known != nil {
		return known, nil
	}
	r.mu.updates[string(content)] = &update
	return &update, nil
}

// entryOf returns the number of a channel's entry, by its link.
func entryOf(channel int, entry deltas.Entry) (number int, ok bool) {
	revision, found := loadgen.LinkedRevision(entry.Link)
	return int(revision), found && entry.Link == loadgen.EntryLink(channel, revision)
}
