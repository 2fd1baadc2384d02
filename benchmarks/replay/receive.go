package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// arrivals are the updates that one receiver got, each when it came first.
type arrivals struct {
	mu      sync.Mutex
	ids     map[string]bool // of messages or events
	repeats int
	updates []arrival
}

type arrival struct {
	at     time.Time
	update api.Update
}

func newArrivals() *arrivals { return &arrivals{ids: make(map[string]bool)} }

func (a *arrivals) add(id string, update api.Update) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids[id] {
		a.repeats++
		return
	}
	a.ids[id] = true
	a.updates = append(a.updates, arrival{time.Now(), update})
}

// of returns the updates of a URL, in order of arrival.
func (a *arrivals) of(url string) []arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []arrival
	for _, arrival := range a.updates {
		if arrival.update.URL == url {
			out = append(out, arrival)
		}
	}
	return out
}

// serveHook receives webhooks until the context ends, and returns its URL.
func serveHook(ctx context.Context, into *arrivals) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(into.serveHTTP), ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener) // ends with the listener
	context.AfterFunc(ctx, func() { server.Close() })
	return "http://" + listener.Addr().String() + "/hook", nil
}

// maxBody is more than any update of the histories.
const maxBody = 16 << 20

func (a *arrivals) serveHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Type string         `json:"type"`
		Data api.UpdateData `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if message.Type == api.MessageUpdated {
		a.add(r.Header.Get("webhook-id"), message.Data.Update)
	}
	w.WriteHeader(http.StatusNoContent)
}

// follow receives a stream until the context ends.
func follow(ctx context.Context, client *api.Client, subscriptions []string, into *arrivals) error {
	filter := api.StreamFilter{Subscriptions: subscriptions}
	for event, err := range client.Follow(ctx, filter, "", func(error, time.Duration) {}) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if event.Type != api.StreamUpdate {
			continue
		}
		update, err := event.Update()
		if err != nil {
			return err
		}
		into.add(event.ID, update)
	}
	return nil
}
