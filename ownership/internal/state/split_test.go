package state

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestSplit: behind a Split, also in the same entry, commands on the buckets that it takes away
// are refused and change nothing, the other half goes on, and a machine of the child finds what
// was there, with times and sequence numbers that go on rising.
func TestSplit(t *testing.T) {
	m := newMachine(t)
	const from = channel.Buckets / 2
	wishes := make(map[bool]string) // by whether they move
	for _, url := range []string{"http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/", "http://e.example/"} {
		wishes[channel.IDOf(url).Bucket() >= from] = url
	}
	if len(wishes) != 2 {
		t.Fatalf("all URLs are in one half: %v", wishes)
	}
	for _, url := range wishes {
		m.apply(t, day0, subscribeCommand(item(url, stream)))
	}
	split := NewSplit(7, from, []string{"a/1", "b/2"})
	entry := &wire.Entry{Commands: []*wire.Command{
		subscribeCommand(item(wishes[true], stream)), split, subscribeCommand(item(wishes[true], stream), item(wishes[false], stream)),
	}}
	for _, c := range entry.Commands {
		c.TimeUs = wire.Micros(day0.Add(time.Second))
	}
	results, err := m.entry(marshal(t, entry))
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Subscribed[0].Err != nil || results[1].Err != nil {
		t.Fatalf("before the split: %+v", results)
	}
	if after := results[2].Subscribed; !errors.Is(after[0].Err, ErrMoved) || after[1].Err != nil {
		t.Errorf("behind the split: %+v", after)
	}
	if again := m.apply(t, day0, split); again.Err != nil {
		t.Errorf("once more: %v", again.Err)
	}
	if r := m.Range(); r != (channel.Range{To: from - 1}) {
		t.Errorf("the range is %+v", r)
	}
	channels, subscriptions := m.Counts()
	if channels != 1 || subscriptions != 2 {
		t.Errorf("%d channels, %d subscriptions are left", channels, subscriptions)
	}
	before := m.String()
	m.open(t, channel.Range{To: channel.Buckets - 1})
	if after := m.String(); after != before {
		t.Errorf("opened again:\n%s\nbefore:\n%s", after, before)
	}
	begins, err := m.states.Founding(7)
	if err != nil || begins == nil || len(begins.Founders) != 2 {
		t.Fatalf("the child begins with %v, %v", begins, err)
	}
	child := &machine{states: m.states, index: FoundingIndex}
	if child.Machine, err = m.states.Machine(channel.Range{ID: 7, From: from, To: channel.Buckets - 1}); err != nil {
		t.Fatal(err)
	}
	if channels, subscriptions := child.Counts(); channels != 1 || subscriptions != 2 || child.Time() < begins.TimeUs || child.Index() != FoundingIndex {
		t.Errorf("the child has %d channels, %d subscriptions, time %d, entry %d", channels, subscriptions, child.Time(), child.Index())
	}
	if made := child.apply(t, day0, subscribeCommand(item(wishes[true], stream))).Subscribed[0]; made.Err != nil || made.Seq != 3 || made.CreatedUS <= begins.TimeUs {
		t.Errorf("a subscription of the child: %+v", made)
	}
	if begins, err := m.states.Founding(7); err != nil || begins != nil {
		t.Errorf("behind its first entry it begins with %v, %v", begins, err)
	}
}

// TestSplitRefused: a range cannot be split before its first bucket, into itself, without
// voters, or while a backup is restored to what would move.
func TestSplitRefused(t *testing.T) {
	m := newMachine(t)
	for name, c := range map[string]*wire.Command{
		"first bucket": NewSplit(7, 0, []string{"a/1"}),
		"itself":       NewSplit(0, 5, []string{"a/1"}),
		"no voters":    NewSplit(7, 5, nil),
		"no bucket":    NewSplit(7, channel.Buckets, []string{"a/1"}),
	} {
		if r := m.apply(t, day0, c); !errors.Is(r.Err, ErrInvalid) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	begin := &wire.Restore{Backup: make([]byte, backupIDLen), Step: &wire.Restore_Begin{Begin: &wire.Restore_Buckets{From: 9, To: 9}}}
	if r := m.apply(t, day0, &wire.Command{Change: &wire.Command_Restore{Restore: begin}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := m.apply(t, day0, NewSplit(7, 9, []string{"a/1"})); !errors.Is(r.Err, ErrRestoring) {
		t.Errorf("while a backup is restored: %v", r.Err)
	}
	if r := m.apply(t, day0, NewSplit(7, 10, []string{"a/1"})); r.Err != nil {
		t.Errorf("of the others: %v", r.Err)
	}
}
