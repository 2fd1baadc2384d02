package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// The ways in which a prepared directory is left.
const (
	stopIdle   = "idle"   // nothing was written for three seconds, then SIGKILL
	stopBusy   = "busy"   // SIGKILL between two acknowledgements
	stopClosed = "closed" // SIGTERM
)

var stops = []string{stopIdle, stopBusy, stopClosed}

const (
	idleFor = 3 * time.Second
	// lateFor is how long before a kill an acknowledged change may be lost: the second
	// in which the log's mark follows, and half of one for its own sync on a busy disk.
	lateFor = 1500 * time.Millisecond
)

// acknowledged is a subscription, as the node acknowledged it.
type acknowledged struct {
	id        string
	at        time.Time
	deletedAt time.Time // zero: it was not
}

// prepared is a data directory that a node has left, and what it had acknowledged.
type prepared struct {
	data string
	stop string
	end  time.Time // when the node was killed, zero if it was stopped
	acks []*acknowledged
}

func (p *prepared) subscribed() int { return len(p.acks) }

func (p *prepared) deleted() (n int) {
	for _, a := range p.acks {
		if !a.deletedAt.IsZero() {
			n++
		}
	}
	return n
}

func (p *prepared) late() (n int) {
	for _, a := range p.acks {
		if p.isLate(a.at) || p.isLate(a.deletedAt) {
			n++
		}
	}
	return n
}

// isLate reports whether what was acknowledged at an instant may be lost.
func (p *prepared) isLate(at time.Time) bool {
	return p.stop == stopBusy && p.end.Sub(at) < lateFor
}

// prepare runs nodes on a new directory, one after the other, so that there are files
// of all kinds, and leaves it in one of the ways.
func prepare(ctx context.Context, folder, program, stop string, random *rand.Rand) (p *prepared, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>It stays as it is.", r.URL.Path) // so that an idle node writes nothing
	}))
	defer origin.Close()
	p = &prepared{data: filepath.Join(folder, "data"), stop: stop}
	n, err := begin(ctx, filepath.Join(folder, "node.log"), program, p.data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for range 2 {
		if err := p.work(ctx, n, origin.URL, random, 120); err != nil {
			return nil, err
		}
		if err := errors.Join(n.Stop(), n.Start(), child.AwaitURL(ctx, n.base+"/readyz", n.Process)); err != nil {
			return nil, err
		}
	}
	if err := p.work(ctx, n, origin.URL, random, 120); err != nil {
		return nil, err
	}
	switch stop {
	case stopClosed:
		return p, n.Stop()
	case stopIdle:
		time.Sleep(idleFor)
	case stopBusy:
		for begun := time.Now(); time.Since(begun) < idleFor; {
			if err := p.work(ctx, n, origin.URL, random, 10); err != nil {
				return nil, err
			}
		}
	}
	p.end = time.Now()
	return p, n.Kill()
}

// work subscribes, and deletes some of what there is, one request after the other.
func (p *prepared) work(ctx context.Context, n *node, origin string, random *rand.Rand, requests int) error {
	for i := range requests {
		if some := p.acks; i%4 == 3 && len(some) > 0 {
			if a := some[random.IntN(len(some))]; a.deletedAt.IsZero() {
				if err := n.client.Unsubscribe(ctx, a.id); err != nil {
					return err
				}
				a.deletedAt = time.Now()
				continue
			}
		}
		sub, err := n.client.Subscribe(ctx, api.SubscribeRequest{URL: fmt.Sprintf("%s/%d", origin, random.IntN(60)), Sink: api.Sink{Type: api.SinkSSE}})
		if err != nil {
			return err
		}
		p.acks = append(p.acks, &acknowledged{id: sub.ID, at: time.Now()})
	}
	return nil
}

// node is the program on one directory.
type node struct {
	*child.Process
	base   string // URL of its API
	client *api.Client
}

// begin starts a node and waits until it serves.
func begin(ctx context.Context, logName, program, data string) (*node, error) {
	n, err := newNode(ctx, logName, program, data)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(n.Start(), child.AwaitURL(ctx, n.base+"/readyz", n.Process)); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func newNode(ctx context.Context, logName, program, data string) (*node, error) {
	address, err := child.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	process, err := child.New(logName, program, "serve", "--data", data, "--listen", address, "--allow-private",
		"--disk-reserve", "8388608")
	if err != nil {
		return nil, err
	}
	n := &node{Process: process, base: "http://" + address}
	n.client, err = api.NewClient(n.base, nil)
	return n, err
}
