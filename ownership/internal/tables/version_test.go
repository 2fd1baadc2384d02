package tables

import (
	"errors"
	"testing"

	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// TestRaise: a raise is for the table that it was decided for, and only goes up.
func TestRaise(t *testing.T) {
	for name, test := range map[string]struct {
		have, version uint32
		revision      uint64
		err           error
	}{
		"the next":               {4, 5, 7, nil},
		"of a table without one": {0, 5, 7, nil},
		"the same":               {5, 5, 7, state.ErrInvalid},
		"of before":              {6, 5, 7, state.ErrInvalid},
		"another table":          {4, 5, 6, state.ErrInvalid},
	} {
		table := &wire.Meta{Revision: 7, StateMachine: test.have}
		want := proto.CloneOf(table)
		if test.err == nil {
			want.StateMachine = test.version
		}
		err := Change(table, &wire.MetaCommand{Change: &wire.MetaCommand_RaiseVersion{RaiseVersion: &wire.RaiseVersion{Version: test.version, Revision: test.revision}}})
		if !errors.Is(err, test.err) || !proto.Equal(table, want) {
			t.Errorf("%s: %v, table %v", name, err, table)
		}
	}
}
