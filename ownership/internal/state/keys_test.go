package state

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"pgregory.net/rapid"
)

// TestKeys holds the layout of keys on disk: it must not change.
func TestKeys(t *testing.T) {
	id := channel.ID{0xAB, 0xCD, 0xEF, 19: 0x01} // bucket 0xABC
	const c = "abcdef0000000000000000000000000000000001"
	for _, test := range []struct {
		name string
		key  []byte
		want string
	}{
		{"bucket", bucketKey(0xABC), "0abc62"},
		{"channel", channelKey(kindChannel, id), "0abc63" + c},
		{"judge", channelKey(kindJudge, id), "0abc6a" + c},
		{"seen", channelItemKey(kindSeen, id, 7), "0abc69" + c + "0000000000000007"},
		{"position", channelKey(kindPosition, id), "0abc67" + c},
		{"straggler", channelItemKey(kindStraggler, id, 7), "0abc68" + c + "0000000000000007"},
		{"member", channelItemKey(kindMember, id, 7), "0abc6d" + c + "0000000000000007"},
		{"seq", bucketItemKey(0xABC, kindSeq, 7), "0abc730000000000000007"},
		{"update", channelItemKey(kindUpdate, id, 7), "0abc75" + c + "0000000000000007"},
		{"stamp", bucketItemKey(0xABC, kindStamp, 7), "0abc740000000000000007"},
		{"claim", dayKey(0xABC, kindClaim, 20000, id[:]), "0abc6b00004e20" + c},
		{"done", dayKey(0xABC, kindDone, 20000, id[:]), "0abc6400004e20" + c},
		{"endpoint", endpointKey("https://example.com/"), "0b556eb559c7edd3fb67374c1a25e739cdd7edd1d79949"},
		{"applied", AppliedKey(3), "ffff6100000003"},
		{"identity", IdentityKey(), "ffff6f"},
	} {
		if got := hex.EncodeToString(test.key); got != test.want {
			t.Errorf("%s key %s, want %s", test.name, got, test.want)
		}
	}
	key := channelItemKey(kindMember, id, 7)
	if b, kind := keyBucket(key); b != 0xABC || kind != kindMember || keyChannel(key) != id || lastItem(key) != 7 {
		t.Error("key does not read back")
	}
}

func TestPrefixEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "prefix")
		key := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "key")
		end := prefixEnd(prefix)
		inside := bytes.Compare(key, prefix) >= 0 && (end == nil || bytes.Compare(key, end) < 0)
		if inside != bytes.HasPrefix(key, prefix) {
			t.Fatalf("prefix %x, end %x: key %x inside %v", prefix, end, key, inside)
		}
	})
}

func TestSubscriptionID(t *testing.T) {
	if got, want := SubscriptionID(0xABC, 1), "sub_nf00000000002"; got != want {
		t.Errorf("ID %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := channel.Bucket(rapid.Uint16Range(0, channel.Buckets-1).Draw(t, "bucket"))
		seq := rapid.Uint64Range(1, maxSeq).Draw(t, "seq")
		gotB, gotSeq, err := ParseSubscriptionID(SubscriptionID(b, seq))
		if err != nil || gotB != b || gotSeq != seq {
			t.Fatalf("bucket %d seq %d came back as %d %d, %v", b, seq, gotB, gotSeq, err)
		}
		if seq < maxSeq && SubscriptionID(b, seq) >= SubscriptionID(b, seq+1) {
			t.Fatal("IDs are not in the order of their numbers")
		}
	})
}

// FuzzParseSubscriptionID: whatever is accepted is what was given out, letter by
// letter, and what is not is ErrNotFound.
func FuzzParseSubscriptionID(f *testing.F) {
	for _, seed := range []string{"", "sub_", "sub_nf00000000002", "sub_NF00000000002", "sub_nf000000000\n2", "sub_0000000000000", "sub_zzzzzzzzzzzzz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		b, seq, err := ParseSubscriptionID(id)
		if err != nil {
			if !errors.Is(err, channel.ErrNotFound) {
				t.Fatalf("%q: %v", id, err)
			}
			return
		}
		if b >= channel.Buckets || seq == 0 || seq > maxSeq || SubscriptionID(b, seq) != id {
			t.Fatalf("%q reads as bucket %d, seq %d", id, b, seq)
		}
	})
}
