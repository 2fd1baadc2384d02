package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// TestGrouping: however entries are grouped into transactions, and wherever the state
// machine restarts, it comes to the same state and answers. A replay groups entries in
// another way than the run before it, and begins without prints.
func TestGrouping(t *testing.T) {
	apart, together := newMachine(t), newMachine(t)
	rapid.Check(t, func(rt *rapid.T) {
		apart.reset(t, 0)
		together.reset(t, 0)
		entries := drawEntries(rt)
		var want, got string
		for _, entry := range entries {
			want += answerText(apart.entry(entry))
		}
		for len(entries) > 0 {
			n := rapid.IntRange(1, len(entries)).Draw(rt, "entries in a transaction")
			tx := together.Begin(false)
			for _, entry := range entries[:n] {
				together.index++
				tx.Reach(together.index)
				got += answerText(tx.Apply(entry))
			}
			if err := together.Write(tx); err != nil {
				rt.Fatal(err)
			}
			if entries = entries[n:]; rapid.Bool().Draw(rt, "restarts") {
				if err := together.Reload(); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if got != want {
			rt.Errorf("answers %s\nwant %s", got, want)
		}
		if got, want := dump(t, together.db), dump(t, apart.db); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Errorf("state %q\nwant  %q", got, want)
		}
	})
}

// drawEntries draws entries of one bucket, in which a few channels and keys meet again
// and again, over some days.
func drawEntries(rt *rapid.T) (entries [][]byte) {
	now := day0
	for range rapid.IntRange(1, 25).Draw(rt, "entries") {
		now = now.Add(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Hour, 24 * time.Hour, 96 * time.Hour}).Draw(rt, "later"))
		command := drawCommand(rt, wire.Micros(now))
		command.TimeUs = wire.Micros(now)
		entry, err := proto.Marshal(&wire.Entry{Commands: []*wire.Command{command}})
		if err != nil {
			rt.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

func drawCommand(rt *rapid.T, now uint64) *wire.Command {
	id := channel.ID{4: byte(rapid.IntRange(1, 3).Draw(rt, "channel"))}
	key := channel.ID{4: byte(rapid.IntRange(1, 3).Draw(rt, "key"))}
	digest := make([]byte, digestLen)
	digest[0] = byte(rapid.IntRange(1, 2).Draw(rt, "digest"))
	small := rapid.Uint64Range(0, 4)
	switch rapid.IntRange(0, 7).Draw(rt, "command") {
	case 0:
		return &wire.Command{Change: &wire.Command_Claim{Claim: &wire.Claim{Items: []*wire.Claim_Item{{Key: key[:], Digest: digest}}}}}
	case 1:
		return &wire.Command{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Seq: small.Draw(rt, "seq")}}}
	case 2:
		return &wire.Command{Change: &wire.Command_EndChannel{EndChannel: &wire.EndChannel{Channel: id[:], Incarnation: small.Draw(rt, "incarnation")}}}
	case 3:
		base := small.Draw(rt, "base")
		commit := commitCommand(id, small.Draw(rt, "incarnation"), base, base+1, "update"[:min(base, 1)*6])
		commit.GetCommit().Gone = rapid.Bool().Draw(rt, "gone")
		commit.GetCommit().Seen = []uint64{base}
		return commit
	case 4:
		progress := &wire.Advance_Item{
			Channel: id[:], Incarnation: small.Draw(rt, "incarnation"), Version: small.Draw(rt, "version"), Seq: small.Draw(rt, "seq"),
			Stragglers: []*wire.Straggler{{Seq: small.Draw(rt, "straggler"), Next: small.Draw(rt, "next")}},
		}
		return &wire.Command{Change: &wire.Command_Advance{Advance: &wire.Advance{Items: []*wire.Advance_Item{progress}}}}
	case 5:
		before := firstKeyDay(now) - uint32(rapid.IntRange(0, 2).Draw(rt, "days"))
		return &wire.Command{Change: &wire.Command_ExpireKeys{ExpireKeys: &wire.ExpireKeys{BeforeDay: before}}}
	default:
		subscribe := &wire.Subscribe_Item{Channel: id[:], Url: "http://example.com/", SinkType: channel.SinkWebhook, SinkUrl: webhook.URL}
		if rapid.Bool().Draw(rt, "keyed") {
			subscribe.Key, subscribe.Digest = key[:], digest
		}
		return subscribeCommand(subscribe)
	}
}
