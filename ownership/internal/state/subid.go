package state

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/seed-91e7e7c1/corona/channel"
)

// A subscription's ID is its bucket (12 bits) and its place in the bucket's
// order (52 bits). So whether it ever existed can be told without a record of
// the deleted ones, and any node finds its range.
const (
	idPrefix = "sub_"
	seqBits  = 52
	maxSeq   = 1<<seqBits - 1
)

// idEncoding is Crockford's alphabet, in lower case: no letter that reads as a
// digit. Its order is that of the numbers.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

func SubscriptionID(b channel.Bucket, seq uint64) string {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(b)<<seqBits|seq)
	text := make([]byte, len(idPrefix), len(idPrefix)+13)
	copy(text, idPrefix)
	return string(idEncoding.AppendEncode(text, raw[:]))
}

// ParseSubscriptionID is the inverse of SubscriptionID. Text that
// SubscriptionID never returned names nothing: the error is ErrNotFound.
func ParseSubscriptionID(id string) (channel.Bucket, uint64, error) {
	text, ok := strings.CutPrefix(id, idPrefix)
	if !ok || len(text) != 13 {
		return 0, 0, fmt.Errorf("subscription %.40q: %w", id, channel.ErrNotFound)
	}
	raw, err := idEncoding.DecodeString(text)
	if err != nil || len(raw) != 8 {
		return 0, 0, fmt.Errorf("subscription %q: %w", id, channel.ErrNotFound)
	}
	n := binary.BigEndian.Uint64(raw)
	bucket, seq := channel.Bucket(n>>seqBits), n&maxSeq
	if seq == 0 || SubscriptionID(bucket, seq) != id {
		return 0, 0, fmt.Errorf("subscription %q: %w", id, channel.ErrNotFound)
	}
	return bucket, seq, nil
}
