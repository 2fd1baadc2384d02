package members

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What a member says of itself is bounded by memberlist: 512 bytes. These limits keep
// far below.
const (
	maxID      = 64
	maxName    = 64
	maxAddress = 253 + len(":65535")
	maxCluster = 64
	maxExpect  = 1 << 16
)

// metaVersion is the first byte of what a member says. Fields may be added at its end,
// which older programs pass over.
const metaVersion = 1

const (
	flagFresh = 1 << iota
	flagDraining
)

var errMeta = errors.New("member's description cannot be read")

// encodeMeta encodes what a member says of itself but for its ID: version, flags,
// expect as a uvarint, then name, address and cluster, each after its length.
func encodeMeta(m Member) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	var flags byte
	if m.Fresh {
		flags |= flagFresh
	}
	if m.Draining {
		flags |= flagDraining
	}
	b := binary.AppendUvarint([]byte{metaVersion, flags}, uint64(m.Expect))
	for _, text := range []string{m.Name, m.Address, m.Cluster} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b, nil
}

func (m Member) check() error {
	switch {
	case m.ID == "" || m.Name == "":
		return errors.New("member: want an ID and a name")
	case m.Expect < 0 || m.Expect > maxExpect:
		return fmt.Errorf("member: expects %d nodes: want 0 to %d", m.Expect, maxExpect)
	}
	return errors.Join(
		checkText("ID", m.ID, maxID), checkText("name", m.Name, maxName),
		checkText("address", m.Address, maxAddress), checkText("cluster", m.Cluster, maxCluster),
	)
}

// checkText refuses what cannot stand in a log line or a status, and what is too long.
func checkText(field, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("member: %s of %d bytes: want %d at most", field, len(text), most)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return fmt.Errorf("member: %s %q: want printable ASCII without spaces", field, text)
		}
	}
	return nil
}

// decodeMeta is the inverse of encodeMeta, but for the ID, which memberlist carries.
func decodeMeta(b []byte) (m Member, err error) {
	if len(b) < 2 || b[0] != metaVersion {
		return m, errMeta
	}
	flags := b[1]
	expect, n := binary.Uvarint(b[2:])
	if n <= 0 || expect > maxExpect {
		return m, errMeta
	}
	b = b[2+n:]
	m = Member{Fresh: flags&flagFresh != 0, Draining: flags&flagDraining != 0, Expect: int(expect)}
	for _, field := range []struct {
		name string
		to   *string
		most int
	}{{"name", &m.Name, maxName}, {"address", &m.Address, maxAddress}, {"cluster", &m.Cluster, maxCluster}} {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return Member{}, errMeta
		}
		*field.to = string(b[n : n+int(length)])
		if err := checkText(field.name, *field.to, field.most); err != nil {
			return Member{}, err
		}
		b = b[n+int(length):]
	}
	if m.Name == "" {
		return Member{}, errMeta
	}
	return m, nil
}
