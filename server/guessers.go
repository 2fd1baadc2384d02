package server

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// What wrong tokens cost their source. A right one never waits for other sources'
// wrong ones.
const (
	freeGuesses = 20          // wrong tokens of one source that cost it nothing
	guessPrice  = time.Second // after which one of them is forgotten
	knownFor    = time.Hour   // after a right token
	maxSources  = 4096        // remembered; one at random makes room for another
	maxHeld     = 64          // answers to wrong tokens held back at a time
)

// guessers remembers where wrong tokens come from. It is safe for concurrent use.
type guessers struct {
	held chan struct{} // a token per answer that is held back

	mu struct {
		sync.Mutex
		sources map[netip.Addr]sender
	}
}

// sender is an IPv4 address or an IPv6 /64, which is what one customer has.
type sender struct {
	forgotten time.Time // when the last of its wrong tokens is
	known     time.Time // when a right token came from it
	told      time.Time // when the log said that it guesses
}

func newGuessers() *guessers {
	g := &guessers{held: make(chan struct{}, maxHeld)}
	g.mu.sources = make(map[netip.Addr]sender)
	return g
}

// sourceOf returns the source of a request, and whether its address says nothing:
// all that a proxy on this machine passes on comes over loopback.
func sourceOf(r *http.Request) (from netip.Addr, shared bool) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	from, err := netip.ParseAddr(host)
	from = from.Unmap().WithZone("")
	if err != nil || from.IsLoopback() {
		return from, true
	}
	if prefix, err := from.Prefix(64); err == nil && from.Is6() {
		from = prefix.Addr()
	}
	return from, false
}

// hears reports whether to check a token from a source: not while it guesses,
// unless a right token came from there lately: its user must not be locked out.
func (g *guessers) hears(from netip.Addr, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.mu.sources[from]
	return !ok || !s.guesses(now) || now.Sub(s.known) < knownFor
}

func (s sender) guesses(now time.Time) bool { return s.forgotten.Sub(now) > freeGuesses*guessPrice }

// right notes a right token.
func (g *guessers) right(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.mu.sources[from]
	s.known = now
	g.keep(from, s)
}

// wrong notes a wrong token and reports whether its source guesses, and whether
// the log is to say so.
func (g *guessers) wrong(from netip.Addr, now time.Time) (guesses, tell bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.mu.sources[from]
	if s.forgotten.Before(now) {
		s.forgotten = now
	}
	if most := now.Add(2 * freeGuesses * guessPrice); s.forgotten.Before(most) {
		s.forgotten = s.forgotten.Add(guessPrice)
	}
	guesses = s.guesses(now)
	tell = guesses && now.Sub(s.told) > knownFor
	if tell {
		s.told = now
	}
	g.keep(from, s)
	return guesses, tell
}

// keep is called under the lock.
func (g *guessers) keep(from netip.Addr, s sender) {
	if _, known := g.mu.sources[from]; !known && len(g.mu.sources) >= maxSources {
		for other := range g.mu.sources {
			delete(g.mu.sources, other)
			break
		}
	}
	g.mu.sources[from] = s
}
