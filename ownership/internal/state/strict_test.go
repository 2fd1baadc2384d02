package state

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestUnknownFields: what a newer version has written is refused whole, wherever its
// field stands: passed over, it would make replicas of two versions differ.
func TestUnknownFields(t *testing.T) {
	text := func(number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	number := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	fixed := protowire.AppendFixed64(protowire.AppendTag(nil, 99, protowire.Fixed64Type), 1)
	commit := marshal(t, &wire.Command{Change: &wire.Command_Commit{Commit: &wire.Commit{Version: 1}}})
	subscribe := EncodeSubscribe([]Item{{url: "http://example.com/"}})
	for what, test := range map[string]struct {
		entry []byte
		known bool
	}{
		"commit":                  {text(1, commit), true},
		"subscribe":               {text(1, subscribe), true},
		"field of an entry":       {slices.Concat(text(1, commit), text(99, nil)), false},
		"number in an entry":      {slices.Concat(text(1, commit), number), false},
		"field of a command":      {text(1, slices.Concat(commit, text(99, nil))), false},
		"number in a command":     {text(1, slices.Concat(commit, number)), false},
		"fixed field of commands": {text(1, slices.Concat(subscribe, fixed)), false},
		"field of a commit":       {text(1, text(5, text(99, nil))), false},
		"field within its hold":   {text(1, text(5, text(17, number))), false},
		"field of a list":         {text(1, text(3, text(99, nil))), false},
		"field of an item":        {text(1, text(3, text(1, text(99, nil)))), false},
		"number in an item":       {text(1, text(3, text(1, number))), false},
		"unknown command":         {text(1, text(98, nil)), false},
	} {
		_, err := decodeEntry(test.entry)
		if known := err == nil; known != test.known {
			t.Errorf("%s: %v", what, err)
		}
		if err := CheckEntry(test.entry); (err == nil) != test.known {
			t.Errorf("%s, from a peer: %v", what, err)
		}
	}
}

// TestTimesRise: whatever time a leader gives a command, the next one is later.
func TestTimesRise(t *testing.T) {
	m := newMachine(t)
	last := uint64(0)
	for i, at := range []time.Time{day0, day0, day0.Add(-time.Hour), day0.Add(time.Second), time.UnixMicro(0), day0} {
		m.apply(t, at, &wire.Command{Change: &wire.Command_Tick{Tick: &wire.Tick{}}})
		now := m.Time()
		if now <= last || now < wire.Micros(at) {
			t.Errorf("command %d at %d has time %d, the one before %d", i, wire.Micros(at), now, last)
		}
		last = now
	}
	if want := wire.Micros(day0.Add(time.Second)) + 2; last != want {
		t.Errorf("time %d, want %d: no later than needed", last, want)
	}
}
