package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// TestRefusals: a command that breaks the rules is refused, changes nothing, and
// neither stops the range nor the commands beside it.
func TestRefusals(t *testing.T) {
	id := channel.IDOf("http://example.com/")
	m := newMachine(t)
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	m.apply(t, day0, commitCommand(id, 1, 0, 1, ""))
	before := dump(t, m.db)
	for name, command := range badCommands() {
		r := m.apply(t, day0, command)
		err := r.Err
		for _, s := range r.Subscribed {
			err = s.Err
		}
		for _, refused := range r.Claims {
			err = refused
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	delete(before, string(AppliedKey(0)))
	after := dump(t, m.db)
	delete(after, string(AppliedKey(0)))
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a refused command changed state")
	}
	m.apply(t, day0, commitCommand(id, 1, 1, 2, "update"))
}

// badCommands break a rule each.
func badCommands() map[string]*wire.Command {
	url := "http://example.com/"
	id := channel.IDOf(url)
	short := []byte("short")
	bad := func(change func(*wire.Subscribe_Item)) *wire.Command {
		i := item(url, webhook)
		change(i)
		return subscribeCommand(i)
	}
	commit := func(change func(*wire.Commit)) *wire.Command {
		c := commitCommand(id, 1, 1, 2, "update")
		change(c.GetCommit())
		return c
	}
	forget := func(change func(*wire.Forget)) *wire.Command {
		f := &wire.Forget{Channel: id[:], Incarnation: 1, Version: 1, Hash: make([]byte, hashLen), Judge: []byte("judge")}
		change(f)
		return &wire.Command{Change: &wire.Command_Forget{Forget: f}}
	}
	return map[string]*wire.Command{
		"channel ID":       bad(func(i *wire.Subscribe_Item) { i.Channel = short }),
		"no URL":           bad(func(i *wire.Subscribe_Item) { i.Url = "" }),
		"long URL":         bad(func(i *wire.Subscribe_Item) { i.Url = strings.Repeat("x", channel.MaxURL+1) }),
		"no sink":          bad(func(i *wire.Subscribe_Item) { i.SinkType = "" }),
		"long sink":        bad(func(i *wire.Subscribe_Item) { i.SinkUrl = strings.Repeat("x", channel.MaxURL+1) }),
		"long secret":      bad(func(i *wire.Subscribe_Item) { i.SinkSecret = strings.Repeat("x", maxSecret+1) }),
		"short key":        bad(func(i *wire.Subscribe_Item) { i.Key = short }),
		"short digest":     bad(func(i *wire.Subscribe_Item) { i.Key, i.Digest = id[:], short }),
		"version leap":     commit(func(c *wire.Commit) { c.Version = 3 }),
		"version back":     commit(func(c *wire.Commit) { c.Version = 0 }),
		"no update":        commit(func(c *wire.Commit) { c.Update = nil }),
		"update of a hold": commit(func(c *wire.Commit) { c.Base = 2 }),
		"update of first":  commit(func(c *wire.Commit) { c.Base, c.Version = 0, 1 }),
		"hash":             commit(func(c *wire.Commit) { c.Hash = short }),
		"kind":             commit(func(c *wire.Commit) { c.Kind = 256 }),
		"judge":            commit(func(c *wire.Commit) { c.Judge = make([]byte, maxJudge+1) }),
		"moved far":        commit(func(c *wire.Commit) { c.Moved = &wire.Moved{To: strings.Repeat("x", channel.MaxURL+1), SinceUs: 1} }),
		"learned, never":   commit(func(c *wire.Commit) { c.Moved = &wire.Moved{To: url, Learned: true} }),
		"moved nowhere":    commit(func(c *wire.Commit) { c.Moved = &wire.Moved{SinceUs: 1} }),
		"learned nothing":  commit(func(c *wire.Commit) { c.Moved = &wire.Moved{Learned: true} }),
		"learned much":     commit(func(c *wire.Commit) { c.Learned = make([]byte, maxLearned+1) }),
		"hold of nothing":  commit(func(c *wire.Commit) { c.Hold = &wire.Hold{SinceUs: 1, Reason: "removal"} }),
		"hold for nothing": commit(func(c *wire.Commit) { c.Held, c.Hold = true, &wire.Hold{SinceUs: 1} }),
		"hold since never": commit(func(c *wire.Commit) { c.Held, c.Hold = true, &wire.Hold{Reason: "removal"} }),
		"hold for long": commit(func(c *wire.Commit) {
			c.Held, c.Hold = true, &wire.Hold{SinceUs: 1, Reason: strings.Repeat("x", maxReason+1)}
		}),
		"forget's channel":  forget(func(f *wire.Forget) { f.Channel = short }),
		"forget's hash":     forget(func(f *wire.Forget) { f.Hash = short }),
		"forget's judge":    forget(func(f *wire.Forget) { f.Judge = nil }),
		"forget much":       forget(func(f *wire.Forget) { f.Judge = make([]byte, maxJudge+1) }),
		"commit's channel":  commit(func(c *wire.Commit) { c.Channel = nil }),
		"claim":             {Change: &wire.Command_Claim{Claim: &wire.Claim{Items: []*wire.Claim_Item{{Key: short}}}}},
		"bucket":            {Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Bucket: channel.Buckets, Seq: 1}}},
		"progress":          {Change: &wire.Command_Advance{Advance: &wire.Advance{Items: []*wire.Advance_Item{{Channel: short}}}}},
		"rest's host":       {Change: &wire.Command_Rest{Rest: &wire.Rest{Items: []*wire.Rest_Item{{Host: short, ForUs: 1, Refusals: 1}}}}},
		"rest of a day":     {Change: &wire.Command_Rest{Rest: &wire.Rest{Items: []*wire.Rest_Item{{Host: id[:], ForUs: 24*3600*1e6 + 1, Refusals: 1}}}}},
		"rest's refusals":   {Change: &wire.Command_Rest{Rest: &wire.Rest{Items: []*wire.Rest_Item{{Host: id[:], ForUs: 1, Refusals: 256}}}}},
		"no endpoint":       {Change: &wire.Command_SetEndpoint{SetEndpoint: &wire.SetEndpoint{}}},
		"end":               {Change: &wire.Command_EndChannel{EndChannel: &wire.EndChannel{Channel: short}}},
		"trim":              {Change: &wire.Command_Trim{Trim: &wire.Trim{}}},
		"keys still in use": {Change: &wire.Command_ExpireKeys{ExpireKeys: &wire.ExpireKeys{From: 0, To: 4095, BeforeDay: dayOf(wire.Micros(day0))}}},
		"keys' buckets":     {Change: &wire.Command_ExpireKeys{ExpireKeys: &wire.ExpireKeys{From: 0, To: 4096, BeforeDay: 1}}},
	}
}

// TestStale: a commit counts only against what is current.
func TestStale(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	id := channel.IDOf(url)
	m.apply(t, day0, subscribeCommand(item(url, stream)))
	m.apply(t, day0, commitCommand(id, 1, 0, 1, ""))
	for name, command := range map[string]*wire.Command{
		"unknown channel": commitCommand(channel.IDOf("http://other.example/"), 1, 0, 1, ""),
		"incarnation":     commitCommand(id, 2, 1, 2, "x"),
		"version again":   commitCommand(id, 1, 0, 1, ""),
		"version to come": commitCommand(id, 1, 2, 3, "x"),
	} {
		if err := m.apply(t, day0, command).Err; err != ErrStale {
			t.Errorf("%s: %v, want ErrStale", name, err)
		}
	}
	if err := m.apply(t, day0, commitCommand(id, 1, 1, 2, "x")).Err; err != nil {
		t.Error(err)
	}
}

// TestSeen: the newest 4096 identities are remembered, in order, whatever the
// sizes of the commits.
func TestSeen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t)
		url := "http://example.com/"
		id := channel.IDOf(url)
		m.apply(t, day0, subscribeCommand(item(url, stream)))
		var all []uint64
		for range rapid.IntRange(1, 12).Draw(rt, "commits") {
			var seen []uint64
			for range rapid.SampledFrom([]int{0, 1, 7, 1000, 4096, 5000}).Draw(rt, "seen") {
				seen = append(seen, uint64(len(all)+len(seen)))
			}
			all = append(all, seen...)
			hold := commitCommand(id, 1, 0, 0, "")
			hold.GetCommit().Seen = seen
			if err := m.apply(t, day0, hold).Err; err != nil {
				rt.Fatal(err)
			}
		}
		got, err := m.states.Seen(id)
		want := all[max(len(all)-maxSeen, 0):]
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%d identities, want %d, %v", len(got), len(want), err)
		}
		record, err := getChannel(m.db, id)
		if err != nil || record.Seen > 2*maxSeen {
			rt.Fatalf("%d identities stored, %v", record.Seen, err)
		}
	})
}

// TestKeyDays: a key holds for 48 hours at least, is free after 72, and expiring
// early is refused.
func TestKeyDays(t *testing.T) {
	url := "http://example.com/"
	id := channel.IDOf(url)
	keyed := func(digest byte) *wire.Subscribe_Item {
		i := item(url, stream)
		i.Key, i.Digest = id[:], slices.Repeat([]byte{digest}, digestLen)
		return i
	}
	claim := func(digest byte) *wire.Command {
		i := keyed(digest)
		return &wire.Command{Change: &wire.Command_Claim{Claim: &wire.Claim{Items: []*wire.Claim_Item{{Key: i.Key, Digest: i.Digest}}}}}
	}
	for hour := range 24 {
		m := newMachine(t)
		start := day0.Add(time.Duration(hour) * time.Hour)
		m.apply(t, start, claim(1))
		first := m.apply(t, start, subscribeCommand(keyed(1))).Subscribed[0]
		for _, after := range []time.Duration{time.Second, 24 * time.Hour, 48 * time.Hour} {
			if err := m.apply(t, start.Add(after), claim(2)).Claims[0]; err != ErrKeyReused {
				t.Errorf("other request %v later: %v", after, err)
			}
			if again := m.apply(t, start.Add(after), subscribeCommand(keyed(1))).Subscribed[0]; !again.Existing || again.Seq != first.Seq {
				t.Errorf("same request %v later: %+v, first %+v", after, again, first)
			}
		}
		late := start.Add(72 * time.Hour)
		if err := m.apply(t, late, claim(2)).Claims[0]; err != nil {
			t.Errorf("other request after three days: %v", err)
		}
		if again := m.apply(t, late, subscribeCommand(keyed(2))).Subscribed[0]; again.Existing || again.Err != nil {
			t.Errorf("other request after three days: %+v", again)
		}
		m.apply(t, late, &wire.Command{Change: &wire.Command_ExpireKeys{
			ExpireKeys: &wire.ExpireKeys{From: 0, To: channel.Buckets - 1, BeforeDay: firstKeyDay(wire.Micros(late))},
		}})
		keys := 0
		for key := range dump(t, m.db) {
			if _, kind := keyBucket([]byte(key)); kind == kindClaim || kind == kindDone {
				keys++
			}
		}
		if keys != 2 {
			t.Errorf("%d key records after expiry, want the 2 of the last request", keys)
		}
	}
}

// TestDoneOfExpiredClaim: the claim has expired by a clock that is ahead in one range, and
// the key comes with another request: a new subscription, not the old one.
func TestDoneOfExpiredClaim(t *testing.T) {
	m := newMachine(t)
	one := item("http://example.com/", stream)
	key := channel.IDOf("key")
	one.Key, one.Digest = key[:], slices.Repeat([]byte{1}, digestLen)
	two := item("http://example.com/", webhook)
	two.Key, two.Digest = key[:], slices.Repeat([]byte{2}, digestLen)
	first := m.apply(t, day0, subscribeCommand(one)).Subscribed[0]
	second := m.apply(t, day0, subscribeCommand(two)).Subscribed[0]
	if second.Existing || second.Seq == first.Seq {
		t.Errorf("another request got the first one's subscription: %+v, %+v", first, second)
	}
}

// FuzzEntry: whatever bytes a log holds, two replicas come to the same state and
// answers, or both stop; nothing panics. What is read by hand is what generated code
// reads.
func FuzzEntry(f *testing.F) {
	once := item("http://example.com/", webhook)
	once.Key = once.Channel
	for _, command := range []*wire.Command{
		subscribeCommand(item("http://example.com/", webhook)),
		subscribeCommand(once, once),
		commitCommand(channel.IDOf("http://example.com/"), 1, 0, 1, ""),
		{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Bucket: 0, Seq: 1}}},
		{Change: &wire.Command_Trim{Trim: &wire.Trim{Channel: make([]byte, 20), Incarnation: 1, BeforeUs: 5, Forced: true}}},
		{Change: &wire.Command_ExpireKeys{ExpireKeys: &wire.ExpireKeys{To: 4095}}},
		{Change: &wire.Command_Forget{Forget: &wire.Forget{Channel: make([]byte, 20), Incarnation: 1, Hash: make([]byte, hashLen), Judge: []byte("x")}}},
		{},
	} {
		f.Add(entryOf(1e15, marshal(f, command)))
		f.Add(entryOf(1e15, append(marshal(f, command), encodeClaim([]claimItem{{"key", "digest"}})...)))
		ofNewerVersion := protowire.AppendString(protowire.AppendTag(marshal(f, command), 99, protowire.BytesType), "more")
		f.Add(entryOf(1e15, ofNewerVersion))
	}
	url := "http://example.com/"
	machines := [2]*machine{newMachine(f), newMachine(f)}
	f.Fuzz(func(t *testing.T, data []byte) {
		prelude := subscribeCommand(item(url, webhook), item(url, stream))
		var answers [2]string
		var states [2]map[string]string
		for i, m := range machines {
			m.reset(t, channel.IDOf(url).Bucket())
			m.apply(t, day0, prelude)
			results, failed := m.entry(data)
			commands, err := decodeEntry(data)
			if err == nil && failed != nil {
				t.Fatalf("entry that reads stopped the replica: %v", failed)
			}
			if entry := (&wire.Entry{}); err == nil && proto.Unmarshal(data, entry) == nil {
				if got, want := spell(commands), spell(byHand(entry)); got != want {
					t.Fatalf("read by hand %s, by generated code %s", got, want)
				}
			}
			answers[i], states[i] = answerText(results, failed), dump(t, m.db)
		}
		if answers[0] != answers[1] || fmt.Sprint(states[0]) != fmt.Sprint(states[1]) {
			t.Fatalf("replicas differ: %s and %s", answers[0], answers[1])
		}
	})
}

// answerText spells an entry's answers out, errors too.
func answerText(results []Result, failed error) string {
	text := fmt.Sprintln(failed)
	for _, r := range results {
		text += fmt.Sprintln(r.Err, r.Claims)
		for _, s := range r.Subscribed {
			text += fmt.Sprintln(s.Seq, s.CreatedUS, s.FromVersion, s.Existing, s.Deleted, s.Err)
		}
	}
	return text
}

// byHand makes of generated code's commands what decodeEntry would.
func byHand(entry *wire.Entry) (commands []command) {
	for _, c := range entry.Commands {
		var change any = c.Change
		switch bulk := c.Change.(type) {
		case *wire.Command_Claim:
			items := []claimItem{}
			for _, i := range bulk.Claim.Items {
				items = append(items, claimItem{string(i.Key), string(i.Digest)})
			}
			change = items
		case *wire.Command_Subscribe:
			items := []Item{}
			for _, i := range bulk.Subscribe.Items {
				items = append(items, Item{string(i.Channel), i.Url, i.SinkType, i.SinkUrl, i.SinkSecret, string(i.Key), string(i.Digest)})
			}
			change = items
		}
		commands = append(commands, command{c.TimeUs, change})
	}
	return commands
}

// spell is commands as text; of what is not read by hand, only its kind.
func spell(commands []command) (text string) {
	for _, c := range commands {
		switch c.change.(type) {
		case []claimItem, []Item:
			text += fmt.Sprintf("%d %q\n", c.timeUS, c.change)
		default:
			text += fmt.Sprintf("%d %T\n", c.timeUS, c.change)
		}
	}
	return text
}
