package witness

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
)

// secret signs the messages of those sinks that have one.
const secret = "whsec_Y3Jhc2ggdGVzdCwgbm90aGluZyBzZWNyZXQgaGVyZQ=="

// Sink receives webhooks. Now and then it is slow, so that kills find messages on
// their way, or fails once, so that messages are repeated for other reasons, too.
type Sink struct {
	recorder *Recorder
	origin   *Origin
	verifier *webhooks.Webhook
	*sink.Webhooks
	URL string // a subscription's sink is URL + its record's Label
	mu  struct {
		sync.Mutex
		random  *rand.Rand
		failed  map[string]failure // by label: the last one
		outages map[string]*Outage // by label, those that last
	}
}

// A sink fails at most one message in failEvery, and not again for failRest, nor before it has
// taken failTaken messages: two failures in a row would rest the endpoint for minutes. That the
// first message was taken is perhaps lost with the node that knew, so that it is not the end of a row.
const (
	failEvery = 150
	failRest  = 30 * time.Second
	failTaken = 3
	slowEvery = 4
	slowMost  = 400 * time.Millisecond
)

// failure is the last one of a label.
type failure struct {
	at    Instant
	taken int // messages since
}

// NewSink makes a sink at an address, which is to be served. What arrives makes room in the
// origin's feeds.
func NewSink(ctx context.Context, address string, r *Recorder, o *Origin, seed uint64) (*Sink, error) {
	verifier, err := webhooks.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	s := &Sink{recorder: r, origin: o, verifier: verifier}
	if s.Webhooks, err = sink.NewWhole(ctx, address, s.take); err != nil {
		return nil, err
	}
	s.URL = s.Base()
	s.mu.random, s.mu.failed, s.mu.outages = rand.New(rand.NewPCG(seed, 1<<32)), make(map[string]failure), make(map[string]*Outage)
	return s, nil
}

// take takes a message. It counts right before it is answered; one whose sender is gone by then
// never came.
func (s *Sink) take(w http.ResponseWriter, r *http.Request, body []byte) {
	Pause(r.Context(), s.slowness())
	if r.Context().Err() != nil {
		return // cut by a kill
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	delivery := Delivery{
		At:        s.recorder.Now(),
		From:      from,
		Label:     strings.TrimPrefix(r.URL.Path, "/"),
		WebhookID: r.Header.Get("webhook-id"),
		Signed:    s.verifier.Verify(body, r.Header) == nil,
		Answer:    http.StatusOK,
	}
	if err := s.read(&delivery, body); err != nil {
		delivery.Type = "unreadable: " + err.Error()
	}
	outage := s.outage(delivery.Label)
	switch {
	case outage != nil:
		delivery.Answer = outage.Answer
	case s.fails(delivery.Label, delivery.At):
		delivery.Answer = http.StatusInternalServerError
	}
	late := false // its sender did not wait for the recorder
	s.recorder.With(func(h *History) {
		if late = r.Context().Err() != nil; !late {
			h.Deliveries = append(h.Deliveries, delivery)
		}
	})
	if late {
		return
	}
	s.recorder.happened(momentDelivered)
	if outage != nil {
		outage.refuse(w)
		return
	}
	w.WriteHeader(delivery.Answer)
}

// read takes the message apart.
func (s *Sink) read(delivery *Delivery, body []byte) error {
	var message struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return err
	}
	var to struct {
		Subscription string `json:"subscription"`
	}
	if err := json.Unmarshal(message.Data, &to); err != nil {
		return err
	}
	delivery.Type, delivery.Subscription = message.Type, to.Subscription
	if message.Type == api.MessageGap {
		delivery.Gap = new(api.Gap)
		return json.Unmarshal(message.Data, delivery.Gap)
	}
	if message.Type != api.MessageUpdated {
		return nil
	}
	update, err := s.recorder.update(message.Data)
	if err != nil {
		return err
	}
	delivery.Update = update
	s.origin.arrived(update)
	return nil
}

// slowness returns how long the sink takes for a message.
func (s *Sink) slowness() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.random.IntN(slowEvery) != 0 {
		return 0
	}
	return UpTo(s.mu.random, slowMost)
}

func (s *Sink) fails(label string, now Instant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, before := s.mu.failed[label]
	if before && (now-last.at < failRest || last.taken < failTaken) || s.mu.random.IntN(failEvery) != 0 {
		if before {
			last.taken++
			s.mu.failed[label] = last
		}
		return false
	}
	s.mu.failed[label] = failure{at: now}
	return true
}

// arrived notes which entries need not stay in their feed's window any more.
func (o *Origin) arrived(update *api.Update) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.mu.feeds {
		if f.record.ID != update.Channel {
			continue
		}
		for _, entry := range update.Entries.Added {
			if number, ok := entryOf(f.record.Number, entry); ok {
				f.seen = max(f.seen, number)
			}
		}
	}
}
