package position

import (
	"github.com/seed-91e7e7c1/corona/channel"
)

// A Step is a place in the sequence of notices of one channel's incarnation: 2v is
// version v, and 2v+1 is the notice that the channel is gone after version v,
// which exists only while the channel is gone. A channel that comes back goes on
// with 2v+2.
type Step uint64

// VersionStep returns the step of version v.
func VersionStep(v uint64) Step { return Step(2 * v) }

// GoneStep returns the step of the notice that the channel is gone after version v.
// It is also the first step behind version v.
func GoneStep(v uint64) Step { return Step(2*v + 1) }

// FirstStep returns the first step of a subscription whose next version is v: the
// notice that the channel is gone before v is news to it too.
func FirstStep(v uint64) Step { return Step(2*v - 1) }

// Version returns the version of the step, or the one before the notice.
func (s Step) Version() uint64 { return uint64(s / 2) }

// Gone reports whether the step is the notice that the channel is gone.
func (s Step) Gone() bool { return s&1 == 1 }

// NextVersion returns the version that is needed next at s, as [channel.Straggler]
// has it.
func (s Step) NextVersion() uint64 { return uint64(s+1) / 2 }

// Within returns the step that s stands for in a sequence that ends with head: a
// notice that does not exist is passed over.
func (s Step) Within(head Step) Step {
	if s.Gone() && s != head {
		return s + 1
	}
	return s
}

// Head returns the last step of a channel. Version 1 is delivered to no
// subscription, and a channel that is gone before it had any content counts as at
// version 1 for subscriptions that wait for version 2.
func Head(c channel.Channel) Step {
	version := max(c.Version, 1)
	if c.Gone {
		return GoneStep(version)
	}
	return VersionStep(version)
}

// lastSeq is above the sequence number of every subscription.
const lastSeq = channel.Told - 1

// cursor is a delivery cursor: every subscription with a sequence number up to seq
// has the step, all others have the one before.
type cursor struct {
	at  Step
	seq uint64
}

// cursorOf reads a delivery cursor as the store keeps it.
func cursorOf(p channel.Progress) cursor {
	if p.Seq&channel.Told != 0 {
		return cursor{GoneStep(p.Version), p.Seq &^ channel.Told}
	}
	return cursor{VersionStep(p.Version), p.Seq}
}

// stored returns the cursor as the store keeps it; the inverse of cursorOf.
func (c cursor) stored() (version, seq uint64) {
	if c.at.Gone() {
		return c.at.Version(), c.seq | channel.Told
	}
	return c.at.Version(), c.seq
}
