// Package history records what clients asked of a cluster and what they were answered,
// and says whether one node that does one thing after another could have given the same
// answers: whether the history is linearizable, per channel (by porcupine).
//
// A client chooses a key for each subscription, sends it as Idempotency-Key, and puts it
// where a list shows it, such as in the sink's URL: so a subscription is known by its key
// also where the answer to its request was lost.
package history

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is what a client asked for.
type Kind string

// The kinds of operations.
const (
	Subscribe   Kind = "subscribe"   // of a key; again with the same key it changes nothing
	Unsubscribe Kind = "unsubscribe" // of the subscription with a key
	List        Kind = "list"        // of a channel's subscriptions
)

// Outcome is what a client was answered.
type Outcome string

// The outcomes of operations.
const (
	Unknown  Outcome = "unknown"   // no answer, or one that leaves open whether it happened
	Done     Outcome = "done"      // subscribed; deleted, now or before; listed
	Deleted  Outcome = "deleted"   // of Subscribe: the key's subscription has been deleted since
	NotFound Outcome = "not found" // of Unsubscribe: there was never such a subscription
)

// operation is one request and its answer.
type operation struct {
	client  int
	channel string
	kind    Kind
	key     string // but of List
	begun   int64  // position among all beginnings and ends
	ended   int64  // 0: not yet, or never
	outcome Outcome
	keys    []string // that a list showed, sorted
}

func (o *operation) String() string {
	ended := "…"
	if o.ended != 0 {
		ended = fmt.Sprint(o.ended)
	}
	asked, answer := string(o.kind), string(o.outcome)
	if o.key != "" {
		asked += " " + o.key
	}
	if o.kind == List && o.outcome == Done {
		answer = "[" + strings.Join(o.keys, " ") + "]"
	}
	return fmt.Sprintf("%d-%s client %d: %s: %s", o.begun, ended, o.client, asked, answer)
}

// Recorder records a history. Its methods may be called from any goroutine; what is
// compared is in which order they were called.
type Recorder struct {
	clock atomic.Int64

	mu struct {
		sync.Mutex
		all []*operation
	}
}

// Pending is an operation whose answer has not come. Exactly one of its methods is
// called, or none, where the answer never came.
type Pending struct {
	recorder *Recorder
	of       *operation
}

// Begin records that a client is about to ask. A key is the client's own name of one
// subscription, of one channel; that of a list is empty.
func (r *Recorder) Begin(client int, channel string, kind Kind, key string) Pending {
	o := &operation{client: client, channel: channel, kind: kind, key: key, outcome: Unknown, begun: r.clock.Add(1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.all = append(r.mu.all, o)
	return Pending{r, o}
}

// End records the answer. An operation that ends as [Unknown] may happen at any time
// from its beginning on, or never.
func (p Pending) End(outcome Outcome) { p.end(outcome, nil) }

func (p Pending) end(outcome Outcome, keys []string) {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.of.outcome, p.of.keys = outcome, keys
	if outcome != Unknown {
		p.of.ended = p.recorder.clock.Add(1)
	}
}

// Listed records the answer to a list: the keys of all subscriptions of the channel. One
// that is there twice was made twice.
func (p Pending) Listed(keys []string) {
	p.end(Done, slices.Sorted(slices.Values(keys)))
}

// Refused forgets the operation: its answer says that it did not happen.
func (p Pending) Refused() {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.mu.all = slices.DeleteFunc(p.recorder.mu.all, func(o *operation) bool { return o == p.of })
}

// channels returns copies of the operations so far, by channel. A list without an answer
// says nothing, and is left out.
func (r *Recorder) channels() map[string][]operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string][]operation)
	for _, o := range r.mu.all {
		if o.kind != List || o.outcome == Done {
			all[o.channel] = append(all[o.channel], *o)
		}
	}
	return all
}
