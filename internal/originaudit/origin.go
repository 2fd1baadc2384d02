package originaudit

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Origin is a content server of many hosts, addresses of 127.0.0.0/8 on one port,
// that plays scripts and logs requests. Its methods may be called
// concurrently.
type Origin struct {
	base      netip.AddrPort
	listeners []net.Listener
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu struct {
		sync.Mutex
		scripts map[string]Script // by URL
		visits  map[string]int    // by URL
		log     []*Exchange
		conns   map[net.Conn]bool
		changed chan struct{} // closed, and another made, when the log grows
		closed  bool
	}
}

// Listen opens the given number of hosts on one port, 0 for any, and serves them
// until it is closed.
func Listen(ctx context.Context, hosts int, port uint16) (*Origin, error) {
	o := &Origin{base: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)}
	o.mu.scripts, o.mu.visits = make(map[string]Script), make(map[string]int)
	o.mu.conns, o.mu.changed = make(map[net.Conn]bool), make(chan struct{})
	for h := range hosts {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", o.Host(h))
		if err != nil {
			_ = o.Close() // nothing was served
			return nil, fmt.Errorf("origin: host %d of %d: %w", h+1, hosts, err)
		}
		o.listeners = append(o.listeners, listener)
		if h == 0 {
			o.base = listener.Addr().(*net.TCPAddr).AddrPort()
		}
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, listener := range o.listeners {
		o.running.Go(func() { o.accept(ctx, listener) })
	}
	return o, nil
}

// Host returns a host's address with its port. Hosts are numbered from 0.
func (o *Origin) Host(number int) string {
	address := o.base.Addr().As4()
	binary.BigEndian.PutUint32(address[:], binary.BigEndian.Uint32(address[:])+uint32(number))
	return netip.AddrPortFrom(netip.AddrFrom4(address), o.base.Port()).String()
}

// URL returns a URL on a host; target is its path with the query.
func (o *Origin) URL(host int, target string) string { return "http://" + o.Host(host) + target }

// Play sets what a URL answers from now on, and returns the URL. What nothing was
// set for answers 404.
func (o *Origin) Play(host int, target string, script Script) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	url := o.URL(host, target)
	o.mu.scripts[url] = script
	return url
}

// Published reports whether a script plays at a URL.
func (o *Origin) Published(url string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.scripts[url] != nil
}

// Refuse stops a host from accepting connections.
func (o *Origin) Refuse(host int) { _ = o.listeners[host].Close() } // a listener has nothing to lose

// Log returns a copy of what was asked so far, in the order of arrival.
func (o *Origin) Log() Log {
	o.mu.Lock()
	defer o.mu.Unlock()
	log := make(Log, len(o.mu.log))
	for i, e := range o.mu.log {
		log[i] = *e
	}
	return log
}

// Await waits until a URL was asked for and answered n times. It returns the
// context's error if that ends before.
func (o *Origin) Await(ctx context.Context, url string, n int) error {
	for {
		o.mu.Lock()
		changed := o.mu.changed
		o.mu.Unlock()
		answered := len(o.Log().Of(url).Answered())
		if answered >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s asked for %d times, want %d: %w", url, answered, n, ctx.Err())
		case <-changed:
		}
	}
}

// Close ends all connections and returns when nothing runs any longer. It may be
// called more than once.
func (o *Origin) Close() error {
	o.mu.Lock()
	o.mu.closed = true
	for conn := range o.mu.conns {
		_ = conn.Close() // its reader has nothing to lose
	}
	o.mu.Unlock()
	for _, listener := range o.listeners {
		_ = listener.Close()
	}
	if o.stop != nil {
		o.stop()
	}
	o.running.Wait()
	return nil
}

// note changes the log under its lock.
func (o *Origin) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.mu.changed)
	o.mu.changed = make(chan struct{})
}

// begin logs a request and returns what it is to be answered.
func (o *Origin) begin(e *Exchange) Answer {
	e.Arrived = time.Now()
	var script Script
	visit := Visit{Exchange: e}
	o.note(func() {
		o.mu.log = append(o.mu.log, e)
		script = o.mu.scripts[e.URL()]
		visit.Number = o.mu.visits[e.URL()]
		o.mu.visits[e.URL()]++
	})
	if script == nil {
		script = Status(404)
	}
	return script(visit)
}
