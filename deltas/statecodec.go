package deltas

import (
	"encoding/binary"
	"fmt"
	"time"
)

// The layout of a stored state, all integers big endian (DESIGN.md, "State").
const (
	stateVersion   = 2
	stateHeader    = 1 + 2 + 2*len(Hash{}) + 2*8 + 2 + 1 + 1 + 3
	stateCandidate = len(Hash{}) + 8 + 1
	stateSlot      = 4 + 4 + 1
	slotMasked     = 0x80 // beside a slot's score

	maxState = stateHeader + maxRecent*len(Hash{}) + stateCandidate + maxSlots*stateSlot
)

// MarshalBinary returns the state's stored form, at most 1,059 bytes. It does not
// fail. Times are kept to the nanosecond.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, stateHeader+len(s.Recent)*len(Hash{})+stateCandidate+len(s.Noise.slots)*stateSlot)
	b = append(b, stateVersion)
	b = binary.BigEndian.AppendUint16(b, s.Extractor)
	b = append(append(b, s.Current[:]...), s.Face[:]...)
	b = appendTime(appendTime(b, s.Shown), s.Looked)
	b = binary.BigEndian.AppendUint16(b, s.Noise.Epoch)
	b = append(b, s.Noise.chosen, s.Returns, byte(len(s.Recent)), 0, byte(len(s.Noise.slots)))
	for _, h := range s.Recent {
		b = append(b, h[:]...)
	}
	if c := s.Candidate; c != nil {
		b[stateHeader-2] = 1
		b = append(b, c.Hash[:]...)
		b = append(appendTime(b, c.Begun), c.Polls)
	}
	for _, slot := range s.Noise.slots {
		b = slot.append(b)
	}
	return b, nil
}

func (s slot) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(s.key))
	b = binary.BigEndian.AppendUint32(b, s.last)
	if s.masked {
		return append(b, s.score|slotMasked)
	}
	return append(b, s.score)
}

// UnmarshalBinary reads what MarshalBinary wrote; nothing at all is the zero
// State. The error is [ErrVersion] or [ErrCorrupt].
func (s *State) UnmarshalBinary(data []byte) error {
	*s = State{}
	if len(data) == 0 {
		return nil
	}
	if data[0] == stateVersion1 {
		if data = fromVersion1(data); data == nil {
			return fmt.Errorf("%w: judge state of version 1", ErrCorrupt)
		}
	}
	if data[0] != stateVersion {
		return fmt.Errorf("%w of judge state: %d", ErrVersion, data[0])
	}
	if len(data) < stateHeader {
		return fmt.Errorf("%w: judge state of %d bytes", ErrCorrupt, len(data))
	}
	recent, candidates, slots := int(data[stateHeader-3]), int(data[stateHeader-2]), int(data[stateHeader-1])
	length := stateHeader + recent*len(Hash{}) + candidates*stateCandidate + slots*stateSlot
	if recent > maxRecent || candidates > 1 || slots > maxSlots || len(data) != length {
		return fmt.Errorf("%w: judge state of %d bytes", ErrCorrupt, len(data))
	}
	r := fields(data[1:])
	read := State{Extractor: binary.BigEndian.Uint16(r.take(2)), Current: Hash(r.take(16)), Face: Hash(r.take(16)), Shown: readTime(r.take(8)), Looked: readTime(r.take(8))}
	read.Noise.Epoch = binary.BigEndian.Uint16(r.take(2))
	read.Noise.chosen = min(r.take(1)[0], mostChosen)
	read.Returns = min(r.take(4)[0], maxReturns)
	for range recent {
		read.Recent = append(read.Recent, Hash(r.take(16)))
	}
	if candidates == 1 {
		read.Candidate = &Candidate{Hash: Hash(r.take(16)), Begun: readTime(r.take(8)), Polls: r.take(1)[0]}
	}
	for range slots {
		if err := read.Noise.read(r.take(stateSlot)); err != nil {
			return err
		}
	}
	*s = read
	return nil
}

// Version 1 knew no noise: it had neither face nor slots.
const (
	stateVersion1 = 1
	stateHeader1  = 1 + 2 + len(Hash{}) + 8 + 1 + 2
)

// fromVersion1 returns a state of version 1 as this version writes it, nil if it
// is too short to be one. Its current content has its own face.
func fromVersion1(data []byte) []byte {
	if len(data) < stateHeader1 {
		return nil
	}
	r := fields(data[1:])
	b := append([]byte{stateVersion}, r.take(2)...)
	current, shown := r.take(16), r.take(8)
	b = append(append(b, current...), current...)
	b = append(append(b, shown...), shown...)
	b = append(b, 0, 0, 0)
	b = append(append(b, r.take(3)...), 0)
	return append(b, r...)
}

// read appends a stored slot. Slots are stored in the order of their keys.
func (n *Noise) read(b []byte) error {
	s := slot{
		key: slotKey(binary.BigEndian.Uint32(b)), last: binary.BigEndian.Uint32(b[4:]),
		score: b[8] &^ slotMasked, masked: b[8]&slotMasked != 0,
	}
	if int(s.key.kind()) >= len(policies) || len(n.slots) > 0 && n.slots[len(n.slots)-1].key >= s.key {
		return fmt.Errorf("%w: judge state has slot %08x", ErrCorrupt, uint32(s.key))
	}
	n.slots = append(n.slots, s)
	return nil
}

// fields are bytes whose length was checked.
type fields []byte

func (f *fields) take(n int) []byte {
	taken := (*f)[:n]
	*f = (*f)[n:]
	return taken
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
