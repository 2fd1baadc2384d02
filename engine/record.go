package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// record is what the cache knows of a channel beside content: which version the
// poller holds, and what goes with it. It is written only after the owner said
// that this version is committed.
type record struct {
	incarnation, version uint64
	hash                 deltas.Hash
	holding              holding
}

// recordFormat is the first byte of a record: bytes of another are not read.
const recordFormat = 1

// errRecord says that bytes are no record of this format.
var errRecord = errors.New("record of the content cache is corrupt")

// append adds the record's bytes: format, incarnation and version (uvarint), hash,
// raw hash (8 bytes, big endian), then ETag, Last-Modified, their URL and the
// feed's URL, each with its length before it (uvarint).
func (r record) append(dst []byte) []byte {
	etag, lastModified, url := r.holding.validators.split()
	dst = append(dst, recordFormat)
	dst = binary.AppendUvarint(dst, r.incarnation)
	dst = binary.AppendUvarint(dst, r.version)
	dst = append(dst, r.hash[:]...)
	dst = binary.BigEndian.AppendUint64(dst, r.holding.rawHash)
	for _, s := range [...]string{etag, lastModified, url, r.holding.feedURL} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// parseRecord reads what append wrote. Its strings are copies. Errors wrap
// errRecord.
func parseRecord(data []byte) (record, error) {
	p := recordParser{rest: data}
	if format := p.bytes(1); len(format) != 1 || format[0] != recordFormat {
		return record{}, fmt.Errorf("%w: not format %d", errRecord, recordFormat)
	}
	r := record{incarnation: p.uvarint(), version: p.uvarint()}
	copy(r.hash[:], p.bytes(len(r.hash)))
	if raw := p.bytes(8); len(raw) == 8 {
		r.holding.rawHash = binary.BigEndian.Uint64(raw)
	}
	etag, lastModified, url := p.text(), p.text(), p.text()
	r.holding.feedURL = p.text()
	r.holding.validators = newValidators(etag, lastModified, url)
	r.holding.ok = true
	if p.failed || len(p.rest) > 0 {
		return record{}, fmt.Errorf("%w: %d bytes", errRecord, len(data))
	}
	return r, nil
}

type recordParser struct {
	rest   []byte
	failed bool
}

func (p *recordParser) bytes(n int) []byte {
	if p.failed || n < 0 || n > len(p.rest) {
		p.failed = true
		return nil
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *recordParser) uvarint() uint64 {
	value, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.failed = true
		return 0
	}
	p.rest = p.rest[n:]
	return value
}

func (p *recordParser) text() string {
	n := p.uvarint()
	if n > maxValidators {
		p.failed = true
	}
	return string(p.bytes(int(min(n, maxValidators))))
}
