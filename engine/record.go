package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// record is what the cache knows of a channel beside content: which version the
// poller holds, and what goes with it. It is written only after the owner said
// that this version is committed.
type record struct {
	incarnation, version uint64
	hash                 deltas.Hash
	holding              holding
	words                words
}

// recordFormat is the first byte of a record. Format 1 ends before the kind; bytes
// of others are not read.
const recordFormat = 2

// errRecord says that bytes are no record of this format.
var errRecord = errors.New("record of the content cache is corrupt")

// append adds the record's bytes: format, incarnation and version (uvarint), hash,
// raw hash (8 bytes, big endian), then ETag, Last-Modified, their URL and the
// feed's URL, each with its length before it (uvarint); then, all uvarints, the
// content's kind, where its freshness lifetime was said, that, ttl and update
// period (seconds), the hours and the weekdays to be skipped.
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
	w := r.words
	for _, n := range [...]uint64{
		uint64(r.holding.kind), uint64(w.source), wholeSeconds(w.fresh), wholeSeconds(w.hints.TTL), wholeSeconds(w.hints.UpdatePeriod),
		uint64(w.hints.SkipHours), uint64(w.hints.SkipDays),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func wholeSeconds(d time.Duration) uint64 { return uint64(max(d, 0) / time.Second) }

// parseRecord reads what append wrote. Its strings are copies. Errors wrap
// errRecord.
func parseRecord(data []byte) (record, error) {
	p := recordParser{rest: data}
	format := p.bytes(1)
	if len(format) != 1 || format[0] < 1 || format[0] > recordFormat {
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
	if format[0] > 1 {
		r.holding.kind = deltas.Kind(p.atMost(math.MaxUint8))
		r.words = p.words()
	}
	if p.failed || len(p.rest) > 0 {
		return record{}, fmt.Errorf("%w: %d bytes", errRecord, len(data))
	}
	return r, nil
}

func (p *recordParser) words() words {
	return words{
		source: fetcher.Source(p.atMost(uint64(fetcher.SourceExpires))),
		fresh:  p.seconds(),
		hints: deltas.Hints{
			TTL: p.seconds(), UpdatePeriod: p.seconds(),
			SkipHours: uint32(p.atMost(math.MaxUint32)), SkipDays: uint8(p.atMost(math.MaxUint8)),
		},
	}
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

// atMost reads a number that fails when it is above a limit.
func (p *recordParser) atMost(most uint64) uint64 {
	n := p.uvarint()
	if n > most {
		p.failed = true
		return 0
	}
	return n
}

func (p *recordParser) seconds() time.Duration {
	return time.Duration(p.atMost(uint64(math.MaxInt64/time.Second))) * time.Second
}

func (p *recordParser) text() string {
	n := p.uvarint()
	if n > maxValidators {
		p.failed = true
	}
	return string(p.bytes(int(min(n, maxValidators))))
}
