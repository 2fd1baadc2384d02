package ownership

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/seed-91e7e7c1/corona/channel"
)

func scrubAll(s *Store) {
	for b := range channel.Bucket(channel.Buckets) {
		s.scrub.read(context.Background(), b)
	}
}

// TestScrub: all that is there is read; a record that is gone, or none that a node writes,
// is found in its bucket, until that is whole again.
func TestScrub(t *testing.T) {
	t.Parallel()
	s := open(t, testConfig(t))
	settled(t, s)
	scrubAll(s)
	if read := testutil.ToFloat64(s.tools.metrics.scrubbedBytes); read < 10_000 || s.scrub.damaged() > 0 {
		t.Errorf("of a whole store %v bytes were read, %d buckets damaged", read, s.scrub.damaged())
	}
	var damaged []string // keys of two members, of different buckets
	records := dump(t, s.db)
	for key := range records {
		if key[2] == 'm' && (len(damaged) == 0 || len(damaged) == 1 && key[:2] != damaged[0][:2]) {
			damaged = append(damaged, key)
		}
	}
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(s.db.Delete([]byte(damaged[0]), pebble.NoSync))
	change(s.db.Set([]byte(damaged[1]), []byte("no record"), pebble.NoSync))
	scrubAll(s)
	if found := s.scrub.damaged(); found != 2 || testutil.ToFloat64(s.tools.metrics.scrubDamage) != 2 {
		t.Errorf("%d buckets damaged, counted %v; want 2", found, testutil.ToFloat64(s.tools.metrics.scrubDamage))
	}
	for _, key := range damaged {
		change(s.db.Set([]byte(key), []byte(records[key]), pebble.NoSync))
	}
	scrubAll(s)
	if found := s.scrub.damaged(); found != 0 {
		t.Errorf("%d buckets damaged after they were mended", found)
	}
}

// TestScrubRuns: the store scrubs itself, bucket after bucket, and so comes to the one that has a
// record too few.
func TestScrubRuns(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.ScrubInterval = 4 * time.Second
	s := open(t, cfg)
	settled(t, s)
	for key := range dump(t, s.db) {
		if key[2] == 'm' {
			if err := s.db.Delete([]byte(key), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	eventuallyWithin(t, time.Minute, "damage is found", func() error {
		if s.scrub.damaged() == 0 {
			return fmt.Errorf("none in %v buckets", testutil.ToFloat64(s.tools.metrics.scrubbed))
		}
		return nil
	})
}

// TestScrubOfMistakes: records that can be read, but do not fit together, on all replicas of a
// range alike, are a mistake of the program. They are counted, and no replica is given up: none
// has better ones, and the range would be without a leader. On one replica alone they are found
// when replicas are compared.
func TestScrubOfMistakes(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 75, nil)
	made := w.filled(20, "before")
	w.agree()
	var wrong string // the key of a subscription
	for key := range dump(t, w.nodes[0].store.db) {
		if key[2] == 'm' {
			wrong = key
		}
	}
	for _, n := range w.nodes {
		n.must(n.store.db.Delete([]byte(wrong), pebble.NoSync))
	}
	for _, n := range w.nodes {
		scrubAll(n.store)
		if all, found := n.store.repairs.all(), n.store.scrub.damaged(); len(all) > 0 || found != 1 {
			t.Errorf("%s: %d buckets found, damaged replicas %v", n.name, found, all)
		}
	}
	w.agree()
	missing := 0
	for id, ch := range made {
		if _, err := w.nodes[0].store.Subscription(id); err != nil {
			missing++
			continue
		}
		w.nodes[1].shows(map[string]channel.ID{id: ch})
	}
	if missing != 1 {
		t.Errorf("%d subscriptions are missing, want the one that was deleted", missing)
	}
}

// TestMistakeOfAll: a record that all replicas have wrong alike is an error of whoever reads it,
// and ends the process that applies a command to it, as on a node alone; no replica is given up,
// so that a mended program goes on with all that there is.
func TestMistakeOfAll(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 100)
	w := newTown(t, 3, 76, func(c *Config) { c.Fatal = func(err error) { ended <- err } })
	made := w.subscribe(w.nodes[0], wish("http://example.com/wrong", "", webhook))
	other := w.subscribe(w.nodes[0], wish("http://example.com/other", "", webhook))
	w.agree()
	for _, n := range w.nodes {
		for key := range dump(t, n.store.db) {
			if key[2] == 'c' && strings.HasSuffix(key, string(made.Channel[:])) {
				n.must(n.store.db.Set([]byte(key), []byte{0xff}, pebble.NoSync))
			}
		}
	}
	given := func(when string) {
		t.Helper()
		for _, n := range w.nodes {
			if all := n.store.repairs.all(); len(all) > 0 {
				t.Errorf("%s: %s: damaged replicas %v", when, n.name, all)
			}
		}
	}
	for _, n := range w.nodes {
		call, cancel := soon()
		_, err := n.store.View().Channel(call, made.Channel)
		cancel()
		wantError(t, err, ErrCorrupt)
		n.shows(map[string]channel.ID{other.ID: other.Channel})
	}
	given("read")
	select {
	case err := <-ended:
		t.Errorf("a reader ended the process: %v", err)
	default:
	}
	call, cancel := soon()
	defer cancel()
	if err := w.nodes[0].store.Unsubscribe(call, made.ID); err == nil {
		t.Error("a subscription of a channel without a record was removed")
	}
	wantError(t, <-ended, ErrCorrupt)
	given("applied")
}
