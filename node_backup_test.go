package corona_test

import (
	"bytes"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestRestoredNodePolls: what a node has from a backup it polls at once, and goes on with
// the versions where the backup ends.
func TestRestoredNodePolls(t *testing.T) {
	origin := newGrowing(t)
	from := open(t, t.TempDir())
	made := subscribe(t, from, origin.URL, "")
	until(t, from, made.Channel, func(ch *api.Channel) bool { return ch.Version == 1 })
	origin.entries.Store(2)
	until(t, from, made.Channel, func(ch *api.Channel) bool { return ch.Version == 2 })
	var file bytes.Buffer
	if err := from.Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	closeNode(t, from)

	to := open(t, t.TempDir())
	defer closeNode(t, to)
	if restored, err := to.Restore(t.Context(), &file); err != nil || restored.Subscriptions != 1 || restored.Updates != 1 {
		t.Fatalf("restored %+v, %v", restored, err)
	}
	origin.entries.Store(3)
	until(t, to, made.Channel, func(ch *api.Channel) bool { return ch.Version == 3 })
	page, err := to.Updates(t.Context(), made.Channel, 1, 10)
	if err != nil || len(page.Updates) != 2 || page.Gap != nil {
		t.Fatalf("updates %+v, %v", page, err)
	}
	for i, update := range page.Updates {
		if added := update.Entries.Added; update.Version != uint64(i+2) || len(added) != 1 {
			t.Errorf("update %+v, want version %d with one entry", update, i+2)
		}
	}
	if s, err := to.Subscription(t.Context(), made.ID); err != nil || s.Channel != made.Channel {
		t.Errorf("subscription %+v, %v", s, err)
	}
}
