package deltas

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// State is what the judge remembers of a channel, the identities seen aside,
// which are kept beside it. The zero State is that of a channel without content.
type State struct {
	Extractor uint16 // version of the extractor that made the current content; 0 as long as there is none
	Current   Hash
	Shown     time.Time  // beginning of the poll that the current content came from
	Recent    []Hash     // the contents before it, the newest last, at most 16
	Candidate *Candidate // content that waits for a second poll; nil if there is none
	Returns   uint8      // returns to recent contents published since something new was
}

// Candidate is suspicious content.
type Candidate struct {
	Hash  Hash
	Begun time.Time // of the latest poll that showed it
	Polls uint8     // that showed it, each begun after the one before
}

const (
	maxRecent  = 16
	maxReturns = 5 // 64 polls
)

func (s State) known() bool { return s.Extractor != 0 }

// move returns the state with the observed content as the current one.
func (s State) move(obs Observation) State {
	next := State{Extractor: ExtractorVersion, Current: obs.Core.Hash, Shown: later(s.Shown, obs.Begun)}
	if s.known() {
		next.Recent = append(slices.Clone(s.Recent), s.Current)
	}
	next.Recent = slices.DeleteFunc(next.Recent, func(h Hash) bool { return h == next.Current })
	if excess := len(next.Recent) - maxRecent; excess > 0 {
		next.Recent = next.Recent[excess:]
	}
	return next
}

// The layout of a stored state, all integers big endian (DESIGN.md, "State").
const (
	stateVersion   = 1
	stateHeader    = 1 + 2 + len(Hash{}) + 8 + 1 + 1 + 1
	stateCandidate = len(Hash{}) + 8 + 1
)

// MarshalBinary returns the state's stored form, at most 320 bytes. It does not
// fail. Times are kept to the nanosecond.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, stateHeader+len(s.Recent)*len(Hash{})+stateCandidate)
	b = append(b, stateVersion)
	b = binary.BigEndian.AppendUint16(b, s.Extractor)
	b = append(b, s.Current[:]...)
	b = appendTime(b, s.Shown)
	b = append(b, s.Returns, byte(len(s.Recent)))
	if s.Candidate == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
	}
	for _, h := range s.Recent {
		b = append(b, h[:]...)
	}
	if c := s.Candidate; c != nil {
		b = append(b, c.Hash[:]...)
		b = append(appendTime(b, c.Begun), c.Polls)
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote; nothing at all is the zero
// State. The error is [ErrVersion] or [ErrCorrupt].
func (s *State) UnmarshalBinary(data []byte) error {
	*s = State{}
	if len(data) == 0 {
		return nil
	}
	if data[0] != stateVersion {
		return fmt.Errorf("%w of judge state: %d", ErrVersion, data[0])
	}
	if len(data) < stateHeader {
		return fmt.Errorf("%w: judge state of %d bytes", ErrCorrupt, len(data))
	}
	recent, candidates := int(data[stateHeader-2]), int(data[stateHeader-1])
	if recent > maxRecent || candidates > 1 || len(data) != stateHeader+recent*len(Hash{})+candidates*stateCandidate {
		return fmt.Errorf("%w: judge state of %d bytes", ErrCorrupt, len(data))
	}
	s.Extractor = binary.BigEndian.Uint16(data[1:])
	copy(s.Current[:], data[3:])
	s.Shown = readTime(data[3+len(Hash{}):])
	s.Returns = min(data[stateHeader-3], maxReturns)
	rest := data[stateHeader:]
	for range recent {
		s.Recent = append(s.Recent, Hash(rest[:len(Hash{})]))
		rest = rest[len(Hash{}):]
	}
	if candidates == 1 {
		s.Candidate = &Candidate{Hash: Hash(rest[:len(Hash{})]), Begun: readTime(rest[len(Hash{}):]), Polls: rest[stateCandidate-1]}
	}
	return nil
}

// appendTime writes nanoseconds since 1970, and the smallest number for the zero time.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.BigEndian.AppendUint64(b, 1<<63)
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano()))
}

func readTime(b []byte) time.Time {
	n := binary.BigEndian.Uint64(b)
	if n == 1<<63 {
		return time.Time{}
	}
	return time.Unix(0, int64(n)).UTC()
}
