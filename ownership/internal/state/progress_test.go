package state

import (
	"reflect"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
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
