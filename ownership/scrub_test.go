package ownership

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/seed-91e7e7c1/corona/channel"
)

func scrubAll(s *Store) {
	for b := range channel.Bucket(channel.Buckets) {
		s.scrubBucket(context.Background(), b)
	}
}

// TestScrub: all that is there is read; a record that is gone, or none that a node writes,
// is found in its bucket, until that is whole again.
func TestScrub(t *testing.T) {
	t.Parallel()
	s := open(t, testConfig(t))
	settled(t, s)
	scrubAll(s)
	if read := testutil.ToFloat64(s.tools.metrics.scrubbedBytes); read < 10_000 || s.damage.count() > 0 {
		t.Errorf("of a whole store %v bytes were read, %d buckets damaged", read, s.damage.count())
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
	if found := s.damage.count(); found != 2 || testutil.ToFloat64(s.tools.metrics.scrubDamage) != 2 {
		t.Errorf("%d buckets damaged, counted %v; want 2", found, testutil.ToFloat64(s.tools.metrics.scrubDamage))
	}
	for _, key := range damaged {
		change(s.db.Set([]byte(key), []byte(records[key]), pebble.NoSync))
	}
	scrubAll(s)
	if found := s.damage.count(); found != 0 {
		t.Errorf("%d buckets damaged after they were mended", found)
	}
}

// TestScrubRuns: the store scrubs itself, bucket after bucket.
func TestScrubRuns(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.ScrubInterval = 4 * time.Second
	s := open(t, cfg)
	for deadline := time.Now().Add(time.Minute); testutil.ToFloat64(s.tools.metrics.scrubbed) < 50; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is scrubbed")
		}
	}
}
