package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
)

// prints is a set of 32-bit fingerprints of IDs. An ID whose print is missing is
// certainly new, so that a bulk of new keys and channels is written without a read of
// the disk. It costs 5 to 11 bytes per ID.
//
// It only saves lookups: replicas may have different prints and come to the same
// results.
type prints struct {
	slots []uint32 // open addressing by the print's high bits; 0 is free
	n     int
}

// printOf is of an ID's bytes behind those that name a bucket.
func printOf(id channel.ID) uint32 { return max(binary.BigEndian.Uint32(id[2:]), 1) }

func (p *prints) has(print uint32) bool {
	if p.n == 0 {
		return false
	}
	_, found := p.find(print)
	return found
}

func (p *prints) add(print uint32) {
	if 4*(p.n+1) > 3*len(p.slots) {
		p.grow()
	}
	if i, found := p.find(print); !found {
		p.slots[i] = print
		p.n++
	}
}

// find returns the slot that has the print, or the one to put it into. There is a
// free one.
func (p *prints) find(print uint32) (i int, found bool) {
	mask := len(p.slots) - 1
	for i = int(uint64(print) * uint64(len(p.slots)) >> 32); p.slots[i] != 0; i = (i + 1) & mask {
		if p.slots[i] == print {
			return i, true
		}
	}
	return i, false
}

func (p *prints) grow() {
	old := p.slots
	p.slots, p.n = make([]uint32, max(2*len(old), 8)), 0
	for _, print := range old {
		if print != 0 {
			p.add(print)
		}
	}
}

// known are the prints of what a bucket holds, each nil until it is asked for.
type known struct{ channels, claims, dones *prints }

// of returns where the prints of a kind of key are.
func (k *known) of(kind byte) **prints {
	switch kind {
	case kindClaim:
		return &k.claims
	case kindDone:
		return &k.dones
	default:
		return &k.channels
	}
}

// mayHave says whether the state, or a transaction that is not written yet, may
// hold a key of this kind for an ID. False is certain.
func (m *Machine) mayHave(kind byte, b channel.Bucket, id channel.ID) (bool, error) {
	p, err := m.prints(kind, b)
	return err == nil && p.has(printOf(id)), err
}

// MayHold says whether the state may hold a channel. False is certain.
func (m *Machine) MayHold(id channel.ID) bool { return m.mayHold(kindChannel, id) }

// mayHold is mayHave of an ID's own bucket for other goroutines. It is true where the
// bucket's prints have not been read yet.
func (m *Machine) mayHold(kind byte, id channel.ID) bool {
	m.knowing.RLock()
	defer m.knowing.RUnlock()
	p := *m.known[id.Bucket()-m.from].of(kind)
	return p == nil || p.has(printOf(id))
}

// willHave notes that a transaction writes such a key.
func (m *Machine) willHave(kind byte, b channel.Bucket, id channel.ID) error {
	p, err := m.prints(kind, b)
	if err == nil {
		m.knowing.Lock()
		defer m.knowing.Unlock()
		p.add(printOf(id))
	}
	return err
}

// forget drops the prints of a bucket after a transaction that deleted many of their
// IDs is written. Earlier, reading them again would miss what the transaction has
// added.
func (m *Machine) forget(b channel.Bucket, expired bool, channels uint64) {
	m.knowing.Lock()
	defer m.knowing.Unlock()
	k := &m.known[b-m.from]
	if expired {
		k.claims, k.dones = nil, nil
	}
	if k.channels != nil && uint64(k.channels.n) > 2*channels+64 {
		k.channels = nil
	}
}

// prints returns a bucket's prints of a kind, read from the state when they are
// asked for the first time.
func (m *Machine) prints(kind byte, b channel.Bucket) (*prints, error) {
	place := m.known[b-m.from].of(kind)
	if *place == nil {
		p, err := readPrints(m.db, kind, b)
		if err != nil {
			return nil, err
		}
		m.knowing.Lock()
		defer m.knowing.Unlock()
		*place = p
	}
	return *place, nil
}

// readPrints reads the IDs at the end of all keys of a kind.
func readPrints(r pebble.Reader, kind byte, b channel.Bucket) (*prints, error) {
	p, prefix := &prints{}, kindPrefix(b, kind)
	err := scan(r, prefix, prefix, func(key, _ []byte) (bool, error) {
		p.add(printOf(channel.ID(key[len(key)-channel.IDLen:])))
		return true, nil
	})
	return p, err
}
