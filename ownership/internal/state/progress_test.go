package state

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Who has the notice that a channel is gone which never had a version is kept, from version 8 of
// the state machine on; before, no position of such a channel was.
func TestPositionBeforeContent(t *testing.T) {
	for _, empty := range []bool{true, false} {
		m := newMachine(t)
		url := "http://example.com/"
		id := channel.IDOf(url)
		m.apply(t, day0, subscribeCommand(item(url, webhook)))
		gone := commitCommand(id, 1, 0, 0, "")
		gone.GetCommit().Gone = true
		if result := m.apply(t, day0, gone); result.Err != nil {
			t.Fatal(result.Err)
		}
		told := channel.Progress{Channel: id, Incarnation: 1, Version: 1, Seq: channel.Told | 1}
		m.apply(t, day0, &wire.Command{Change: &wire.Command_Advance{Advance: &wire.Advance{Empty: empty, Items: []*wire.Advance_Item{
			{Channel: id[:], Incarnation: 1, Version: told.Version, Seq: told.Seq},
			{Channel: id[:], Incarnation: 1, Version: 2, Seq: 1}, // which the channel has not
		}}}})
		got, err := m.states.Progress(id)
		if kept := reflect.DeepEqual(got, told); err != nil || kept != empty {
			t.Errorf("with empty %v: %+v, %v", empty, got, err)
		}
	}
}

// A subscription that has lost its record is damage, not one that was deleted.
func TestSubscriptionWithoutRecord(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	id := channel.IDOf(url)
	seq := m.apply(t, day0, subscribeCommand(item(url, webhook))).Subscribed[0].Seq
	made := SubscriptionID(id.Bucket(), seq)
	if err := m.states.db.Delete(channelItemKey(kindMember, id, seq), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"subscription": func() error { _, err := m.states.Subscription(made); return err },
		"beginning":    func() error { _, err := m.states.Beginnings(t.Context(), []string{made}, false); return err },
	} {
		if err := read(); !errors.Is(err, disk.ErrCorrupt) || errors.Is(err, channel.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
