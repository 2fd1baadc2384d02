package stream

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
)

// ErrCursor means that a text is no cursor of a stream.
var ErrCursor = errors.New("not a cursor")

// A cursor on the wire is base64url without padding of
//
//	version (1 byte, 2) epoch (8, big-endian) stamp (8) bucket (2)
//
// and, for each run of buckets that is not there, of varints
//
//	buckets since the last run, buckets of the run less 1, stamp less the first one
//	(signed), bucket
//
// Version 1 is the same without runs.
const (
	cursorVersion = 2
	cursorBytes   = 1 + 8 + 8 + 2 // without runs
	runBytes      = 2 + 2 + binary.MaxVarintLen64 + 2
	maxRuns       = 1024 // a cluster has no more ranges; package server takes no longer cursors
)

var cursorEncoding = base64.RawURLEncoding.Strict()

// encodeCursor returns the text that a client sends back to go on behind p.
func encodeCursor(epoch uint64, p place) string {
	raw := make([]byte, 0, cursorBytes+runBytes*len(p.except))
	return cursorEncoding.EncodeToString(appendCursor(raw, cursorVersion, epoch, p))
}

func appendCursor(raw []byte, version byte, epoch uint64, p place) []byte {
	raw = append(raw, version)
	raw = binary.BigEndian.AppendUint64(raw, epoch)
	raw = binary.BigEndian.AppendUint64(raw, p.base.Stamp)
	raw = binary.BigEndian.AppendUint16(raw, uint16(p.base.Bucket))
	next := channel.Bucket(0)
	for _, r := range p.except {
		raw = binary.AppendUvarint(raw, uint64(r.from-next))
		raw = binary.AppendUvarint(raw, uint64(r.to-r.from))
		raw = binary.AppendVarint(raw, int64(r.at.Stamp-p.base.Stamp)) // wraps, and back
		raw = binary.AppendUvarint(raw, uint64(r.at.Bucket))
		next = r.to + 1
	}
	return raw
}

// decodeCursor reads what encodeCursor wrote, in this version or the one before; the
// error wraps [ErrCursor].
func decodeCursor(text string) (epoch uint64, p place, err error) {
	if n := len(text); n < cursorEncoding.EncodedLen(cursorBytes) || n > cursorEncoding.EncodedLen(cursorBytes+runBytes*maxRuns) {
		return 0, place{}, fmt.Errorf("%w: %d characters", ErrCursor, n)
	}
	raw, err := cursorEncoding.DecodeString(text)
	if err != nil {
		return 0, place{}, fmt.Errorf("%w: %w", ErrCursor, err)
	}
	if len(raw) < cursorBytes || raw[0] == 1 && len(raw) > cursorBytes { // the decoder passes over line ends
		return 0, place{}, fmt.Errorf("%w: %d bytes", ErrCursor, len(raw))
	}
	if raw[0] != 1 && raw[0] != cursorVersion {
		return 0, place{}, fmt.Errorf("%w: version %d", ErrCursor, raw[0])
	}
	epoch = binary.BigEndian.Uint64(raw[1:])
	p.base = channel.Cursor{Stamp: binary.BigEndian.Uint64(raw[9:]), Bucket: channel.Bucket(binary.BigEndian.Uint16(raw[17:]))}
	if p.base.Bucket > lastBucket {
		return 0, place{}, fmt.Errorf("%w: bucket %d", ErrCursor, p.base.Bucket)
	}
	if err := p.decodeRuns(raw[cursorBytes:]); err != nil {
		return 0, place{}, err
	}
	// One form of each place only: no long varints, no runs that another says too.
	if again := cursorEncoding.EncodeToString(appendCursor(nil, raw[0], epoch, p)); again != text {
		return 0, place{}, fmt.Errorf("%w: not in its shortest form", ErrCursor)
	}
	return epoch, p, nil
}

func (p *place) decodeRuns(raw []byte) error {
	next := uint64(0)
	for runs := 0; len(raw) > 0; runs++ {
		fields, rest, ok := runFields(raw)
		from := next + fields.gap
		to := from + fields.more
		if !ok || runs == maxRuns || fields.gap > lastBucket || fields.more > lastBucket || to > lastBucket || fields.bucket > lastBucket {
			return fmt.Errorf("%w: run %d of buckets", ErrCursor, runs+1)
		}
		p.add(channel.Bucket(from), channel.Bucket(to), channel.Cursor{Stamp: p.base.Stamp + uint64(fields.stamp), Bucket: channel.Bucket(fields.bucket)})
		raw, next = rest, to+1
	}
	return nil
}

type rawRun struct {
	gap, more, bucket uint64
	stamp             int64
}

func runFields(raw []byte) (f rawRun, rest []byte, ok bool) {
	ok = true
	unsigned := func() uint64 {
		v, n := binary.Uvarint(raw)
		ok = ok && n > 0
		raw = raw[max(n, 0):]
		return v
	}
	f.gap, f.more = unsigned(), unsigned()
	v, n := binary.Varint(raw)
	ok = ok && n > 0
	raw, f.stamp = raw[max(n, 0):], v
	f.bucket = unsigned()
	return f, raw, ok
}
