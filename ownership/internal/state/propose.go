package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Commit changes what the cluster holds to be a channel's content.
type Commit struct {
	Channel     channel.ID
	Incarnation uint64
	Base        uint64       // the version that it was judged against
	Version     uint64       // Base+1 for new content; Base to hold, rebase, or note that the origin has gone, is back or has moved
	Hash        [16]byte     // of the core content; zero keeps the current one
	Kind        uint8        // zero keeps the current one
	Judge       []byte       // the judge's new state; nil keeps the current one
	Held        bool         // by Judge, a candidate waits for another poll
	Hold        channel.Hold // of that candidate
	Forgotten   uint32       // [channel.Channel.Forgotten] of the channel that Judge was made from
	Seen        []uint64     // identities to remember, oldest first; the newest 4096 of all are kept
	Update      []byte       // what subscribers get: none for version 1 and where Version is Base
	Patch       []byte       // delta from Base to Version, may be nil
	At          time.Time
	Gone        bool           // to be said in every commit
	Moved       *channel.Moved // nil keeps what is known; the zero value forgets it
	Learned     []byte         // of how often the channel changes, opaque, at most 256 bytes; empty keeps what is known
}

// NewCommit returns the command of a commit, or ErrInvalid.
func NewCommit(c Commit) (*wire.Command, error) {
	commit := &wire.Commit{
		Channel: c.Channel[:], Incarnation: c.Incarnation, Base: c.Base, Version: c.Version,
		Kind: uint32(c.Kind), Judge: c.Judge, Held: c.Held, Seen: c.Seen, Update: c.Update, Patch: c.Patch,
		AtUs: wire.Micros(c.At), Gone: c.Gone, Moved: wireMoved(c.Moved), Learned: c.Learned,
		Forgotten: c.Forgotten, Hold: wireHold(c.Hold),
	}
	if c.Hash != ([hashLen]byte{}) {
		commit.Hash = c.Hash[:]
	}
	return &wire.Command{Change: &wire.Command_Commit{Commit: commit}}, checkCommit(commit)
}

// NewForget returns the command that replaces the judge's state of a channel that is still
// as ch says, or ErrInvalid.
func NewForget(ch channel.Channel, judge []byte) (*wire.Command, error) {
	forget := &wire.Forget{Channel: ch.ID[:], Incarnation: ch.Incarnation, Version: ch.Version, Hash: ch.Hash[:], Judge: judge}
	return &wire.Command{Change: &wire.Command_Forget{Forget: forget}}, checkForget(forget)
}

// NewSetEndpoint returns the command that keeps an endpoint in the place of what it was made
// from, or ErrInvalid. Text that is not UTF-8 or too long is mended.
func NewSetEndpoint(e, was channel.Endpoint) (*wire.Command, error) {
	set := &wire.SetEndpoint{Endpoint: wireEndpoint(e), Was: wireEndpoint(was)}
	return &wire.Command{Change: &wire.Command_SetEndpoint{SetEndpoint: set}}, checkSetEndpoint(set)
}

// NewAdvance returns the part of an Advance that moves one channel's position, or
// ErrInvalid.
func NewAdvance(p channel.Progress) (*wire.Advance_Item, error) {
	if p.Version == 0 {
		return nil, fmt.Errorf("%w: progress of channel %s to version 0", ErrInvalid, p.Channel)
	}
	item := &wire.Advance_Item{Channel: p.Channel[:], Incarnation: p.Incarnation, Version: p.Version, Seq: p.Seq}
	for _, straggler := range p.Stragglers {
		item.Stragglers = append(item.Stragglers, &wire.Straggler{Seq: straggler.Seq, Next: straggler.Next})
	}
	return item, nil
}

// clip returns at most limit bytes of valid UTF-8.
func clip(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
