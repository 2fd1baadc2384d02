package sink

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// Manner is how an endpoint answers.
type Manner uint8

// The manners.
const (
	Acknowledges Manner = iota
	Hangs               // never answers
	Fails               // answers 500
)

// Webhooks is a server with many endpoints.
type Webhooks struct {
	// Arrive takes each update that is acknowledged, by the subscription's ID. It returns
	// false for an ID that is not known yet: then it is told again by Again.
	arrive   func(id string, a Arrival) bool
	whole    func(out http.ResponseWriter, r *http.Request, message []byte) // nil: messages are read here
	manners  []Manner
	listener net.Listener
	server   *http.Server

	Gaps, Unreadable atomic.Int64 // messages that say what is lost, and that say nothing

	mu struct {
		sync.Mutex
		early map[string][]Arrival // of subscriptions that are not known yet
	}
}

// mostEarly bounds what is kept of subscriptions that are not known yet.
const mostEarly = 100_000

// NewWebhooks opens a server on a loopback address. Each element of manners is an endpoint.
func NewWebhooks(ctx context.Context, address string, manners []Manner, arrive func(id string, a Arrival) bool) (*Webhooks, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	w := &Webhooks{arrive: arrive, manners: manners, listener: listener}
	w.mu.early = make(map[string][]Arrival)
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	return w, nil
}

// NewWhole opens a server whose messages, whatever their paths, are taken whole and answered by a
// function.
func NewWhole(ctx context.Context, address string, whole func(out http.ResponseWriter, r *http.Request, message []byte)) (*Webhooks, error) {
	w, err := NewWebhooks(ctx, address, nil, nil)
	if err == nil {
		w.whole = whole
	}
	return w, err
}

// Base returns what the addresses of all endpoints begin with.
func (w *Webhooks) Base() string { return "http://" + w.listener.Addr().String() + "/" }

// URL returns the address of an endpoint.
func (w *Webhooks) URL(endpoint int) string { return w.Base() + strconv.Itoa(endpoint) }

// closeWithin bounds the end of a server, whose endpoints may hang.
const closeWithin = time.Second

// Serve answers until the context ends.
func (w *Webhooks) Serve(ctx context.Context) error {
	w.server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- w.server.Serve(w.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if w.server.Shutdown(closing) != nil {
		_ = w.server.Close() // its connections are of no more use
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// maxMessage bounds a webhook's body, in bytes.
const maxMessage = 4 << 20

// ServeHTTP implements [http.Handler].
func (w *Webhooks) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if w.whole != nil {
		if message, err := io.ReadAll(io.LimitReader(r.Body, maxMessage)); err == nil {
			w.whole(out, r, message)
		}
		return
	}
	endpoint, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil || endpoint < 0 || endpoint >= len(w.manners) {
		http.NotFound(out, r)
		return
	}
	switch w.manners[endpoint] {
	case Hangs:
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxMessage))
		<-r.Context().Done() // the sender gives up, or the server ends
		return
	case Fails:
		out.WriteHeader(http.StatusInternalServerError)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return // cut by the sender's end
	}
	w.take(body, at)
	out.WriteHeader(http.StatusOK)
}

func (w *Webhooks) take(body []byte, at time.Time) {
	var m message
	var u update
	if json.Unmarshal(body, &m) != nil || m.Type == api.MessageUpdated && json.Unmarshal(m.Data, &u) != nil {
		w.Unreadable.Add(1)
		return
	}
	switch m.Type {
	case api.MessageUpdated:
		w.hand(u.Subscription, u.arrival(at))
	case api.MessageGap:
		w.Gaps.Add(1)
	}
}

func (w *Webhooks) hand(id string, a Arrival) {
	if w.arrive(id, a) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.arrive(id, a) { // it became known meanwhile
		return
	}
	if len(w.mu.early) < mostEarly {
		w.mu.early[id] = append(w.mu.early[id], a)
	}
}

// Known hands on what arrived at a subscription before its ID was known. It is called
// once arrive takes it.
func (w *Webhooks) Known(id string) {
	w.mu.Lock()
	early := w.mu.early[id]
	delete(w.mu.early, id)
	w.mu.Unlock()
	for _, a := range early {
		w.arrive(id, a)
	}
}
