package fetcher

import (
	"crypto/tls"
	"strings"
	"sync"
)

// sessions keeps TLS sessions, one per host, so that a host that is asked again
// after its connection was closed is spared a signature, and we the check of its
// certificates.
//
// They are kept encoded: 3 to 5 KiB each, ticket and certificates, in one piece.
// The library's own cache keeps the certificates parsed, which takes twice as much,
// in hundreds of objects that every garbage collection visits. Parsing them for a
// handshake is a small part of it.
type sessions struct {
	mu struct {
		sync.Mutex
		kept *lru[session]
	}
}

// session is a session as the library encodes it, and the ticket that names it to
// the server.
type session struct{ ticket, state []byte }

func newSessions(most int) *sessions {
	s := new(sessions)
	s.mu.kept = newLRU[session](most)
	return s
}

// of returns the part of the cache that a connection to a host, with port, may use.
// The library's key is the name alone, which several servers may share.
func (s *sessions) of(hostPort string) tls.ClientSessionCache { return hostSessions{s, hostPort} }

type hostSessions struct {
	all      *sessions
	hostPort string
}

// Get implements [tls.ClientSessionCache].
func (h hostSessions) Get(string) (*tls.ClientSessionState, bool) {
	h.all.mu.Lock()
	kept, ok := h.all.mu.kept.get(h.hostPort)
	h.all.mu.Unlock()
	if !ok {
		return nil, false
	}
	state, err := tls.ParseSessionState(kept.state)
	if err != nil {
		return nil, false
	}
	resumable, err := tls.NewResumptionState(kept.ticket, state)
	return resumable, err == nil
}

// Put implements [tls.ClientSessionCache]. A nil session is one that failed.
func (h hostSessions) Put(_ string, resumable *tls.ClientSessionState) {
	kept, ok := encode(resumable)
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	if ok {
		h.all.mu.kept.put(strings.Clone(h.hostPort), kept)
	} else {
		h.all.mu.kept.remove(h.hostPort)
	}
}

// maxSession is the longest session, in bytes, that is kept: tickets and chains are
// as long as a server likes.
const maxSession = 16 << 10

func encode(resumable *tls.ClientSessionState) (kept session, ok bool) {
	ticket, state, err := resumable.ResumptionState()
	if err != nil || state == nil {
		return session{}, false
	}
	encoded, err := state.Bytes()
	if err != nil || len(ticket)+len(encoded) > maxSession {
		return session{}, false
	}
	return session{ticket, encoded}, true
}

// count returns how many sessions are kept.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.kept.entries)
}
