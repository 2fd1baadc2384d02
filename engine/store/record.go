package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// Record is what the cache knows of a channel beside content: which version the
// poller holds, what goes with it, and what the origin said of how often it wants to
// be asked. It is written only after the owner said that this version is committed.
type Record struct {
	Incarnation, Version uint64
	Hash                 deltas.Hash
	Holding              Holding
	Lifetime             time.Duration  // freshness lifetime of the last answer
	Aged                 uint8          // part of it that is over when answers come, in 256ths
	Source               fetcher.Source // where that was said
	Hints                deltas.Hints   // of the last document
}

// Holding is what the poller holds of a channel's current version. The zero value
// is nothing: the next poll gets the whole document.
type Holding struct {
	RawHash uint64 // of the body as it came
	Texts   Texts
	Kind    deltas.Kind // of the content; 0: not known
	Pair    Pair        // where validators are
	OK      bool
}

// SameOnDisk reports that h, as it is recorded, serves a restart as well as other.
func (h Holding) SameOnDisk(other Holding) bool {
	return h.OK && h.Texts == other.Texts && h.Kind == other.Kind
}

// Pair says where the validators of a channel are. An origin may give another pair
// with the same content each time: those are kept in memory alone, until one of
// them has proved good for something. It is not recorded.
type Pair uint8

const (
	PairConfirmed Pair = iota // in the cache
	PairNew                   // in the cache, and not confirmed yet
	PairUnsaved               // in memory: the one before was not confirmed either
)

// After returns where validators belong after a poll that brought the current
// content whole: with the same validators once more, or with others.
func (last Pair) After(same bool) Pair {
	switch {
	case same:
		return PairConfirmed
	case last == PairConfirmed:
		return PairNew
	}
	return PairUnsaved
}

// recordFormat is the first byte of a record. Format 1 ends before the kind, format 2
// before the age; bytes of others are not read.
const recordFormat = 3

// errRecord says that bytes are no record of this format.
var errRecord = errors.New("record of the content cache is corrupt")

// append adds the record's bytes: format, incarnation and version (uvarint), hash,
// raw hash (8 bytes, big endian), then ETag, Last-Modified, their URL and the
// feed's URL, each with its length before it (uvarint); then, all uvarints, the
// content's kind, where its freshness lifetime was said, that, ttl and update
// period (seconds), the hours and the weekdays to be skipped, and how much of the
// lifetime is over when answers come.
func (r Record) append(dst []byte) []byte {
	etag, lastModified, url := r.Holding.Texts.Validators()
	dst = append(dst, recordFormat)
	dst = binary.AppendUvarint(dst, r.Incarnation)
	dst = binary.AppendUvarint(dst, r.Version)
	dst = append(dst, r.Hash[:]...)
	dst = binary.BigEndian.AppendUint64(dst, r.Holding.RawHash)
	for _, s := range [...]string{etag, lastModified, url, r.Holding.Texts.FeedURL()} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	for _, n := range [...]uint64{
		uint64(r.Holding.Kind), uint64(r.Source), wholeSeconds(r.Lifetime), wholeSeconds(r.Hints.TTL), wholeSeconds(r.Hints.UpdatePeriod),
		uint64(r.Hints.SkipHours), uint64(r.Hints.SkipDays), uint64(r.Aged),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func wholeSeconds(d time.Duration) uint64 { return uint64(max(d, 0) / time.Second) }

// parseRecord reads what append wrote. Its strings are copies. Errors wrap
// errRecord.
func parseRecord(data []byte) (Record, error) {
	p := recordParser{rest: data}
	format := p.bytes(1)
	if len(format) != 1 || format[0] < 1 || format[0] > recordFormat {
		return Record{}, fmt.Errorf("%w: not format %d", errRecord, recordFormat)
	}
	r := Record{Incarnation: p.uvarint(), Version: p.uvarint()}
	copy(r.Hash[:], p.bytes(len(r.Hash)))
	if raw := p.bytes(8); len(raw) == 8 {
		r.Holding.RawHash = binary.BigEndian.Uint64(raw)
	}
	etag, lastModified, url, feed := p.text(), p.text(), p.text(), p.text()
	r.Holding.Texts = NewTexts(etag, lastModified, url, feed)
	r.Holding.OK = true
	if format[0] > 1 {
		r.Holding.Kind = deltas.Kind(p.atMost(math.MaxUint8))
		p.wishes(&r)
	}
	if format[0] > 2 {
		r.Aged = uint8(p.atMost(math.MaxUint8))
	}
	if p.failed || len(p.rest) > 0 {
		return Record{}, fmt.Errorf("%w: %d bytes", errRecord, len(data))
	}
	return r, nil
}

// wishes reads what the origin said of how often it wants to be asked.
func (p *recordParser) wishes(r *Record) {
	r.Source = fetcher.Source(p.atMost(uint64(fetcher.SourceExpires)))
	r.Lifetime = p.seconds()
	r.Hints = deltas.Hints{
		TTL: p.seconds(), UpdatePeriod: p.seconds(),
		SkipHours: uint32(p.atMost(math.MaxUint32)), SkipDays: uint8(p.atMost(math.MaxUint8)),
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
	if n > MaxValidators {
		p.failed = true
	}
	return string(p.bytes(int(min(n, MaxValidators))))
}
