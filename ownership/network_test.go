package ownership

import (
	"context"
	"testing"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestAdmit: who is let in before this node has a cluster, and when it has one.
func TestAdmit(t *testing.T) {
	n := &network{}
	for _, test := range []struct {
		members map[string]bool
		id      peer.Identity
		admit   bool
	}{
		{nil, peer.Identity{Name: "a", ID: "a.1"}, true},
		{nil, peer.Identity{Name: "a", ID: "b.1"}, false},
		{nil, peer.Identity{Name: "a", ID: "a"}, true},
		{map[string]bool{"b.c.1": true}, peer.Identity{Name: "b.c", ID: "b.c.1"}, true},
		{map[string]bool{"b.c.1": true}, peer.Identity{Name: "b", ID: "b.c.1"}, false},
		{map[string]bool{"b.c.1": true}, peer.Identity{Name: "b.c", ID: "b.c.2"}, false},
	} {
		if test.members != nil {
			n.members.Store(&test.members)
		}
		if err := n.admit(test.id); (err == nil) != test.admit {
			t.Errorf("%+v among %v: %v", test.id, test.members, err)
		}
	}
}

// TestChangeWhileStarting: a node that others ask for a change before its replica of the meta group
// runs sends them elsewhere.
func TestChangeWhileStarting(t *testing.T) {
	c := &changes{metaCalls: &metaCalls{meta: &metaGroup{}}}
	_, err := c.changeOnce(context.Background(), &wire.MetaCommand{})
	wantError(t, err, errElsewhere)
}
