package fetcher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// How long names keep their addresses. The resolver does not show a record's own
// lifetime, so that these must be no longer than what origins count on: those that
// move by DNS say 20 to 300 s, and a connection that is kept holds an address as
// long anyway. What has no address is asked for again sooner, since it may be our
// name servers that failed; that a busy host fails costs a question in
// absentLifetime, not one a poll.
const (
	nameLifetime   = time.Minute
	absentLifetime = 30 * time.Second
)

// lookupTime is how long a lookup may take: a resolver's two attempts of 5 s. What
// is left of a fetch's time should be for the next name server, not for this one.
const lookupTime = 10 * time.Second

// maxAddrs is how many addresses of a name are kept.
const maxAddrs = 8

// names is a cache of hosts' addresses. Concurrent callers share one lookup of a name
// (single flight), without a goroutine: the first caller asks; when it gives up, the
// next one asks.
//
// An address from here is no safer than one from the resolver: the guard checks
// each when it is dialled.
type names struct {
	ask     func(ctx context.Context, network, host string) ([]netip.Addr, error)
	turns   chan struct{} // holds one element per lookup under way
	strange chan struct{} // those of names that had no address before: fewer, so that dead ones do not keep the others waiting
	metrics *metrics

	mu struct {
		sync.Mutex
		known *lru[*name]
	}
}

// name is what a lookup found. The fields are written once, before ready is closed.
type name struct {
	ready     chan struct{}
	known     bool // it had addresses before
	abandoned bool // the asking caller gave up: addrs and err mean nothing
	addrs     []netip.Addr
	err       error     // why there are no addresses
	until     time.Time // zero until ready; the lock guards this one too
}

func newNames(resolver *net.Resolver, most, lookups int, m *metrics) *names {
	n := &names{ask: resolver.LookupNetIP, turns: make(chan struct{}, lookups), strange: make(chan struct{}, lookups-lookups/4), metrics: m}
	n.mu.known = newLRU[*name](most)
	return n
}

// lookup returns the addresses of a host, the one to try first in front; at least
// one when there is no error. The caller must not change them.
func (n *names) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	for {
		found, ours := n.enter(host)
		if ours {
			return n.resolve(ctx, host, found)
		}
		select {
		case <-found.ready:
		case <-ctx.Done():
			return nil, &net.DNSError{UnwrapErr: ctx.Err(), Err: "still being looked up", Name: host, IsTimeout: true}
		}
		if !found.abandoned {
			n.metrics.lookupsSaved.Inc()
			return found.addrs, found.err
		}
	}
}

// enter returns what is known of a host, or being found out. ours: nothing is, and
// the caller must find it out.
func (n *names) enter(host string) (found *name, ours bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, ok := n.mu.known.get(host)
	if ok && (found.until.IsZero() || time.Now().Before(found.until)) {
		return found, false
	}
	found = &name{ready: make(chan struct{}), known: ok && found.err == nil}
	// The host is part of a URL of up to 2 KiB, which would stay with it.
	n.mu.known.put(strings.Clone(host), found)
	return found, true
}

// resolve asks for a host's addresses and passes them to all waiting callers.
func (n *names) resolve(ctx context.Context, host string, found *name) ([]netip.Addr, error) {
	turns := []chan struct{}{n.turns}
	if !found.known {
		turns = []chan struct{}{n.strange, n.turns}
	}
	addrs, err := n.askInTurn(ctx, host, turns...)
	lifetime := nameLifetime
	if err != nil {
		lifetime = absentLifetime
	}
	n.mu.Lock()
	found.abandoned = err != nil && ctx.Err() != nil
	found.addrs, found.err = addrs, err
	found.until = time.Now().Add(lifetime)
	if known, _ := n.mu.known.get(host); found.abandoned && known == found {
		n.mu.known.remove(host)
	}
	n.mu.Unlock()
	close(found.ready)
	return addrs, err
}

func (n *names) askInTurn(ctx context.Context, host string, turns ...chan struct{}) ([]netip.Addr, error) {
	for _, turn := range turns {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return nil, fail(Busy, "all %d lookups are under way", cap(turn))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	n.metrics.lookups.Inc()
	addrs, err := n.ask(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	if err != nil {
		n.metrics.lookupFailures.Inc()
		return nil, asDNSError(err, host)
	}
	addrs = addrs[:min(len(addrs), maxAddrs)]
	for i, addr := range addrs {
		addrs[i] = addr.Unmap() // the resolver writes IPv4 as IPv6
	}
	return addrs, nil
}

// asDNSError makes sure that a failed lookup is known as one, also when it ended
// with its time.
func asDNSError(err error, host string) error {
	var known *net.DNSError
	if errors.As(err, &known) {
		return err
	}
	return &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: host}
}

// prefer puts the address that answered in front of a host's others.
func (n *names) prefer(host string, addr netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, ok := n.mu.known.get(host)
	if !ok || found.until.IsZero() || found.err != nil || found.addrs[0] == addr {
		return
	}
	i := slices.Index(found.addrs, addr)
	if i < 0 {
		return
	}
	others := slices.Delete(slices.Clone(found.addrs), i, i+1)
	n.mu.known.put(host, &name{ready: found.ready, until: found.until, addrs: slices.Insert(others, 0, addr)})
}

// drop forgets a host, whose addresses lead nowhere.
func (n *names) drop(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found, ok := n.mu.known.get(host); ok && !found.until.IsZero() {
		n.mu.known.remove(host)
	}
}

// count returns how many hosts are known.
func (n *names) count() int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.mu.known.entries)
}
