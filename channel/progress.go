package channel

import (
	"cmp"
	"slices"
)

// Progress is a channel's delivery cursor and its stragglers: every webhook
// subscription with a sequence number up to Seq has Version, all others have
// Version−1, but for the stragglers. Versions before a subscription's first count
// as delivered. Version is at least 1.
//
// With [Told] set in Seq, every subscription has Version, and those up to the rest
// of Seq have been told that the channel is gone. That keeps the meaning of Version
// and Seq true for a reader that does not know the bit.
type Progress struct {
	Channel     ID
	Incarnation uint64
	Version     uint64
	Seq         uint64
	Stragglers  []Straggler // by Seq; in a write: those to set
}

// Told is the bit of [Progress.Seq] that marks the notice that a channel is gone.
const Told = 1 << 63

// Straggler is a subscription that is not where its channel's progress says: Next is
// the version that it needs next; in a write 0 says that it has caught up.
type Straggler struct{ Seq, Next uint64 }

// Delivered returns the newest version that a webhook subscription of the channel
// has acknowledged or been told to be lost, 0 before its first.
func (p Progress) Delivered(s Subscription) uint64 {
	version := p.Version
	if s.Seq > p.Seq && version > 0 { // none is above Told
		version--
	}
	bySeq := func(s Straggler, seq uint64) int { return cmp.Compare(s.Seq, seq) }
	if i, late := slices.BinarySearchFunc(p.Stragglers, s.Seq, bySeq); late {
		version = p.Stragglers[i].Next - 1
	}
	if version < s.FromVersion {
		return 0
	}
	return version
}
