package members

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// What a member says of itself is bounded by memberlist: 512 bytes. These limits keep
// far below.
const (
	maxID      = 64
	maxName    = 64
	maxAddress = 253 + len(":65535")
	maxCluster = 64
	maxEgress  = 64
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
// expect as a uvarint, then name, address, cluster and egress label, each after its
// length, and the extractor's version as a uvarint.
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
	for _, text := range []string{m.Name, m.Address, m.Cluster, m.Egress} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return binary.AppendUvarint(b, uint64(m.Extracts)), nil
}

func (m Member) check() error {
	switch {
	case m.ID == "" || m.Name == "":
		return errors.New("member: want an ID and a name")
	case m.Expect < 0 || m.Expect > maxExpect:
		return fmt.Errorf("member: expects %d nodes: want 0 to %d", m.Expect, maxExpect)
	case m.Extracts < 0:
		return fmt.Errorf("member: extractor version %d", m.Extracts)
	}
	return errors.Join(
		checkText("ID", m.ID, maxID), checkText("name", m.Name, maxName),
		checkText("address", m.Address, maxAddress), checkText("cluster", m.Cluster, maxCluster),
		checkText("egress label", m.Egress, maxEgress),
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
	}{{"name", &m.Name, maxName}, {"address", &m.Address, maxAddress}, {"cluster", &m.Cluster, maxCluster}, {"egress label", &m.Egress, maxEgress}} {
		if b, err = decodeText(b, field.to, field.name, field.most); err != nil {
			return Member{}, err
		}
	}
	extracts, n := binary.Uvarint(b)
	if m.Name == "" || n <= 0 || extracts > math.MaxInt32 {
		return Member{}, errMeta
	}
	m.Extracts = int(extracts)
	return m, nil
}

// decodeText reads a text behind its length, and returns what follows.
func decodeText(b []byte, to *string, field string, most int) (rest []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, errMeta
	}
	*to, rest = string(b[n:n+int(length)]), b[n+int(length):]
	return rest, checkText(field, *to, most)
}
