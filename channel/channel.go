package channel

import "time"

// Channel is the replicated record of a channel. Times are UTC in microseconds;
// the zero time stands for never.
type Channel struct {
	ID           ID
	URL          string
	Incarnation  uint64   // never given twice within a bucket
	Version      uint64   // 0 until the first content is committed
	Hash         [16]byte // of the current core content
	Kind         uint8    // of document, as the difference engine numbers them
	Subscribers  uint64
	Webhooks     uint64 // those of Subscribers with an acknowledged sink
	Created      time.Time
	FirstContent time.Time // when version 1 was seen
	LastChange   time.Time // when the newest version after it was seen
	EmptiedAt    time.Time // when the last subscriber left, zero while there are any
	Judge        []byte    // state of the judge: nil in listings
	Held         bool      // by that state, a candidate waits for another poll
	Hold         Hold      // of that candidate, if it is to be told; zero: it is not, or there is none
	Forgotten    uint32    // times that the judge's state was replaced by one without what it had learned
	Gone         bool      // the origin answered 410
	GoneStamp    uint64    // of the notice of it, 0 while it is not gone
	Moved        Moved     // where its URL redirects for good
	Learned      []byte    // of how often it changes, as the owner writes it; nil: nothing; not to be written to
	Oldest       uint64    // the oldest version whose update is kept, 0 while there is none
	TrimmedStamp uint64    // of the newest update that is no longer kept, 0 while all are
}

// Moved is a permanent redirect (RFC 9110, 15.4.2 and 15.4.9) of a channel's
// URL, the zero value none. The channel keeps its URL and ID.
type Moved struct {
	To      string    // the last permanent target, canonical, at most [MaxURL] bytes
	Since   time.Time // it has led there without a break; UTC, microseconds; zero: it is doubted, and not to be learned
	Learned bool      // polls ask To instead of the channel's URL
}

// Hold says of a candidate of the judge that subscribers are told of it when polls go
// on to show it. The zero value is none.
type Hold struct {
	Since  time.Time // when the first poll that showed it began; UTC, microseconds
	Reason string    // a word of the judge's, 1 to 64 bytes
}
