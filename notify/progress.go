package notify

import (
	"cmp"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Progress is a channel's position as the store keeps it: every webhook
// subscription with a sequence number up to Seq has Version, all others have the
// version before, but for the stragglers. Versions before a subscription's first
// count as had.
//
// The highest bit of Seq says that everybody has Version, and those up to the rest
// of Seq have been told that the channel is gone. It keeps the meaning of Version
// and Seq true for a store that knows nothing of it.
type Progress struct {
	Channel     channel.ID
	Incarnation uint64
	Version     uint64
	Seq         uint64
	Stragglers  []Straggler // by Seq
}

const (
	goneBit = 1 << 63
	lastSeq = goneBit - 1
)

// Delivered returns the newest version that a subscription of the channel has
// acknowledged or been told to be lost, 0 before its first.
func (p Progress) Delivered(sub Subscriber) uint64 {
	version := p.Version
	if p.Seq&goneBit == 0 && sub.Seq > p.Seq && version > 0 {
		version--
	}
	bySeq := func(s Straggler, seq uint64) int { return cmp.Compare(s.Seq, seq) }
	if i, late := slices.BinarySearchFunc(p.Stragglers, sub.Seq, bySeq); late {
		version = p.Stragglers[i].Next - 1
	}
	if version < sub.FromVersion {
		return 0
	}
	return version
}

// at returns the step that is under way, and whom it was offered to.
func (p Progress) at() (at step, offered uint64) {
	if p.Seq&goneBit != 0 {
		return goneStep(p.Version), p.Seq &^ goneBit
	}
	return versionStep(p.Version), p.Seq
}

// progressAt is the inverse of at.
func progressAt(at step, offered uint64) (version, seq uint64) {
	if at.gone() {
		offered |= goneBit
	}
	return at.version(), offered
}
