package channel

import (
	"cmp"
	"time"
)

// Update is a committed update; or, with Gone, the notice that the origin said
// after Version that it is gone: that has a stamp of its own and no data, and is
// read in the order of cursors alone. Data and Patch belong to the reader.
type Update struct {
	Channel     ID
	URL         string
	Incarnation uint64
	Version     uint64
	Stamp       uint64 // place in the bucket's order of updates; close to microseconds since 1970
	At          time.Time
	Data        []byte // for [deltas.DecodeUpdate]
	Patch       []byte // from the version before, may be nil
	Gone        bool
}

// Cursor returns the update's own place.
func (u Update) Cursor() Cursor { return Cursor{Stamp: u.Stamp, Bucket: u.Channel.Bucket()} }

// Gap says that the updates of the versions From to To are no longer kept.
type Gap struct{ From, To uint64 }

// Beginning is where a stream of a subscription begins.
type Beginning struct {
	Missing bool // there is no such subscription, or no more; all else is zero then
	Channel ID
	From    uint64 // the subscription's first version
	Gap     *Gap   // versions from From on that are no longer kept; nil: none
	News    Cursor // of the first update that is kept from From on, else of the notice that the channel is gone; zero: there is neither
}

// Kept is what a range keeps of chosen channels behind a cursor, or the beginning of that.
type Kept struct {
	Updates []Update // in the order of cursors, without patches; those that are Gone too
	Lost    []Lost   `json:",omitempty"` // of the channels that have lost updates behind the cursor
	Closed  uint64   // stamp up to which the updates are all that there are, unless there are more
	More    bool     // there are more, behind the last of them
}

// Lost says that the updates of a channel before a version are no longer kept.
type Lost struct {
	Channel ID
	Oldest  uint64 // the first version that is kept
	Stamp   uint64 // of the newest update that is not
}

// Cursor returns the place of the newest update that is lost.
func (l Lost) Cursor() Cursor { return Cursor{Stamp: l.Stamp, Bucket: l.Channel.Bucket()} }

// Cursor is a place in the order of all updates: by stamp, then bucket. A bucket
// gives no stamp twice, so no two updates share a place.
type Cursor struct {
	Stamp  uint64
	Bucket Bucket
}

// EndOf returns the place behind everything with a stamp up to closed.
func EndOf(closed uint64) Cursor { return Cursor{Stamp: closed, Bucket: Buckets - 1} }

// Compare orders cursors: negative when c comes before other.
func (c Cursor) Compare(other Cursor) int {
	return cmp.Or(cmp.Compare(c.Stamp, other.Stamp), cmp.Compare(c.Bucket, other.Bucket))
}

// Less reports whether c comes before other.
func (c Cursor) Less(other Cursor) bool { return c.Compare(other) < 0 }

// Before returns the place just before c, which must not be the first.
func (c Cursor) Before() Cursor {
	if c.Bucket > 0 {
		return Cursor{Stamp: c.Stamp, Bucket: c.Bucket - 1}
	}
	return EndOf(c.Stamp - 1)
}
