package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is a closed loop: each client has one command under way.
type load struct {
	commands commands
	nodes    []string // base URLs
	clients  []*http.Client
	phase    atomic.Int32
	number   atomic.Uint64 // of the last command
	seen     []seen        // by client
	running  sync.WaitGroup
}

// Phases of a load, in their order.
const (
	warming int32 = iota
	measuring
	measured // under load still, for profiles
	over
)

// seen is what a client has seen.
type seen struct {
	latencies    []time.Duration // of what was acknowledged in the window
	acknowledged uint64          // in all
	failed       int             // in the window
	failure      error           // the last
}

const (
	requestWithin = 30 * time.Second
	failurePause  = 10 * time.Millisecond
)

// newLoad is of so many clients, with so many connections to each node.
func newLoad(c commands, nodes []string, security *tls.Config, clients, connections int) *load {
	l := &load{commands: c, nodes: nodes, seen: make([]seen, clients)}
	for range len(nodes) * connections {
		l.clients = append(l.clients, &http.Client{
			Timeout: requestWithin,
			Transport: &http.Transport{
				ForceAttemptHTTP2:  true,
				DisableCompression: true,
				TLSClientConfig:    security.Clone(),
			},
		})
	}
	return l
}

// begin starts all clients.
func (l *load) begin(ctx context.Context) {
	for i := range l.seen {
		l.running.Go(func() { l.client(ctx, i) })
	}
}

// client sends commands one after the other until the load is over.
func (l *load) client(ctx context.Context, i int) {
	way := i % len(l.clients)
	client, base := l.clients[way], l.nodes[way%len(l.nodes)]
	s := &l.seen[i]
	for l.phase.Load() != over && ctx.Err() == nil {
		began := time.Now()
		err := send(client, base, l.commands, l.number.Add(1))
		took := time.Since(began)
		counts := l.phase.Load() == measuring
		switch {
		case err == nil:
			s.acknowledged++
			if counts {
				s.latencies = append(s.latencies, took)
			}
		case counts:
			s.failed++
			fallthrough
		default:
			s.failure = err
			time.Sleep(failurePause)
		}
	}
}

// end lets all clients finish and returns what they have seen together, the latencies
// sorted.
func (l *load) end() (all seen) {
	l.phase.Store(over)
	l.running.Wait()
	for _, client := range l.clients {
		client.CloseIdleConnections()
	}
	for _, s := range l.seen {
		all.latencies = append(all.latencies, s.latencies...)
		all.acknowledged += s.acknowledged
		all.failed += s.failed
		if s.failure != nil {
			all.failure = s.failure
		}
	}
	slices.Sort(all.latencies)
	return all
}

// wait sleeps, or returns why the context has ended.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("interrupted"), context.Cause(ctx))
	}
}

// quantile of sorted durations, of which there is one at least, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}
