package notify

import (
	"github.com/seed-91e7e7c1/corona/channel"
)

// A step is a place in the line of notices of one channel's incarnation: 2v is
// version v, and 2v+1 is the notice that the channel is gone after version v,
// which only exists while it is. So a channel that comes back goes on with 2v+2.
type step uint64

func versionStep(v uint64) step { return step(2 * v) }
func goneStep(v uint64) step    { return step(2*v + 1) }

// needs returns the first step of a subscription whose next version is v: that
// the channel is gone before v is news to it too.
func needs(v uint64) step { return step(2*v - 1) }

// version returns the version of the step, or the one before the notice.
func (s step) version() uint64 { return uint64(s / 2) }

func (s step) gone() bool { return s&1 == 1 }

// next returns the version that is needed next at s, as [Straggler] has it.
func (s step) next() uint64 { return uint64(s+1) / 2 }

// within returns the step that s stands for in a line that ends with head: a
// notice that does not exist is passed over.
func (s step) within(head step) step {
	if s.gone() && s != head {
		return s + 1
	}
	return s
}

// headOf returns the last step of a channel. Version 1 is delivered to nobody, and
// a channel that is gone before it had any content has been at version 1 for those
// who wait for version 2.
func headOf(c channel.Channel) step {
	version := max(c.Version, 1)
	if c.Gone {
		return goneStep(version)
	}
	return versionStep(version)
}

// lastSeq is above the number of every subscription.
const lastSeq = channel.Told - 1

// placeOf returns the step that is under way, and the last subscription that it was
// offered to.
func placeOf(p channel.Progress) (at step, offered uint64) {
	if p.Seq&channel.Told != 0 {
		return goneStep(p.Version), p.Seq &^ channel.Told
	}
	return versionStep(p.Version), p.Seq
}

// progressAt is the inverse of placeOf.
func progressAt(at step, offered uint64) (version, seq uint64) {
	if at.gone() {
		offered |= channel.Told
	}
	return at.version(), offered
}
