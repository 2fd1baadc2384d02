package state

import (
	"encoding/binary"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Keys of the state store. Numbers are big-endian, so that byte order is number
// order. B is the bucket (2 bytes), C a channel's ID (20 bytes):
//
//	B 'b'                       → Bucket        the bucket's sequences and counts
//	B 'c' C                     → Channel       what every subscription changes
//	B 'j' C                     → bytes         the judge's state
//	B 'i' C chunk(8)            → Seen          identities seen, in order
//	B 'g' C                     → Position      progress of acknowledged deliveries
//	B 'h' C seq(8)              → next(8)       a straggler and the version it needs
//	B 'm' C seq(8)              → Subscription  a channel's subscriptions, in order
//	B 's' seq(8)                → C             the bucket's subscriptions, in order
//	B 'u' C version(8)          → Update
//	B 't' stamp(8)              → Stamped       the bucket's updates and notices, in order
//	B 'k' day(4) SHA-1(key)     → Claimed       B is the key's own bucket
//	B 'd' day(4) SHA-1(key)     → Done          B is the channel's bucket
//	B 'n' SHA-1(URL)            → Endpoint      B is the URL's own bucket
//	B 'r' SHA-1(host)           → Resting       B is the host's own bucket
//	0xFFFF 'a' group(4)         → Applied       how far a group's state is
//	0xFFFF 'o'                  → Identity      whose state it is
//
// Everything of a bucket lies together, so that a range can be split, moved or
// deleted by key ranges. Idempotency keys lie by day, so that forgetting a day
// is one range deletion and needs no index.
const (
	kindBucket    = 'b'
	kindChannel   = 'c'
	kindJudge     = 'j'
	kindSeen      = 'i'
	kindPosition  = 'g'
	kindStraggler = 'h'
	kindMember    = 'm'
	kindSeq       = 's'
	kindUpdate    = 'u'
	kindStamp     = 't'
	kindClaim     = 'k'
	kindDone      = 'd'
	kindEndpoint  = 'n'
	kindResting   = 'r'
	kindApplied   = 'a'
	kindIdentity  = 'o'
)

// systemBucket is beyond all buckets: what belongs to a group or to the node.
const systemBucket channel.Bucket = 0xFFFF

func kindPrefix(b channel.Bucket, kind byte) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, 64), uint16(b)), kind)
}

// FirstKey is before all keys of a bucket, and behind those of the bucket before it.
func FirstKey(b channel.Bucket) []byte { return kindPrefix(b, 0) }

func bucketKey(b channel.Bucket) []byte { return kindPrefix(b, kindBucket) }

// channelKey is the key of kinds that have one record per channel, and the
// prefix of those that have many.
func channelKey(kind byte, id channel.ID) []byte {
	return append(kindPrefix(id.Bucket(), kind), id[:]...)
}

// channelItemKey is a key of the kinds with many records per channel.
func channelItemKey(kind byte, id channel.ID, item uint64) []byte {
	return binary.BigEndian.AppendUint64(channelKey(kind, id), item)
}

// bucketItemKey is a key of the kinds that number within a bucket.
func bucketItemKey(b channel.Bucket, kind byte, item uint64) []byte {
	return binary.BigEndian.AppendUint64(kindPrefix(b, kind), item)
}

// dayKey is the key of what idempotency key did on a day. The prefix of a whole
// day has no key.
func dayKey(b channel.Bucket, kind byte, day uint32, key []byte) []byte {
	return append(binary.BigEndian.AppendUint32(kindPrefix(b, kind), day), key...)
}

func endpointKey(url string) []byte {
	id := channel.IDOf(url)
	return channelKey(kindEndpoint, id)
}

// AppliedKey is the key of the record of how far a range's state is in its log.
func AppliedKey(group uint32) []byte {
	return binary.BigEndian.AppendUint32(kindPrefix(systemBucket, kindApplied), group)
}

// IdentityKey is the key of the record that says whose the states are.
func IdentityKey() []byte { return kindPrefix(systemBucket, kindIdentity) }

// prefixEnd returns the first key after all keys with the prefix, nil if there
// is none.
func prefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// lastItem reads the number at the end of an item key.
func lastItem(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// keyBucket reads the bucket and kind of a key.
func keyBucket(key []byte) (channel.Bucket, byte) {
	return channel.Bucket(binary.BigEndian.Uint16(key)), key[2]
}

// keyChannel reads the channel's ID of a channel key or channel item key.
func keyChannel(key []byte) channel.ID { return channel.ID(key[3 : 3+channel.IDLen]) }
