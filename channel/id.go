package channel

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
)

// IDLen is the length of an ID in bytes.
const IDLen = sha1.Size

// ID names a channel or a host: the SHA-1 of the canonical URL's bytes, or of
// the host's lower-case name with port.
type ID [IDLen]byte

// Parse returns the canonical form of a URL that a person wrote and its ID.
// The error is a [*URLError].
func Parse(raw string) (canonical string, id ID, err error) {
	canonical, err = Canonical(raw)
	if err != nil {
		return "", ID{}, err
	}
	return canonical, IDOf(canonical), nil
}

// IDOf returns the ID of a canonical URL. It does not canonicalise.
func IDOf(canonical string) ID { return sha1.Sum([]byte(canonical)) }

// HostID returns the ID of a host as [Host] spells it: lower-case name with port.
func HostID(host string) ID { return sha1.Sum([]byte(host)) }

// ParseID reads 40 hex digits, of either case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != hex.EncodedLen(IDLen) {
		return ID{}, fmt.Errorf("channel ID %q: want %d hex digits, have %d characters", clip(s), hex.EncodedLen(IDLen), len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("channel ID %q: %w", s, err)
	}
	return id, nil
}

// String returns 40 lower-case hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements [encoding.TextMarshaler]: the form of [ID.String].
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]: what [ParseID] accepts.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// Compare orders IDs as their bytes: by bucket first.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Buckets is the number of fixed parts of the ID space. State, sequences and
// keys are kept per bucket, so that ranges of buckets can be split and moved.
const Buckets = 4096

// Bucket is one of the [Buckets] parts of the ID space, 0 to 4095.
type Bucket uint16

// Bucket returns the first 12 bits of the ID.
func (id ID) Bucket() Bucket { return Bucket(id[0])<<4 | Bucket(id[1])>>4 }

// clip shortens hostile text for an error message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
