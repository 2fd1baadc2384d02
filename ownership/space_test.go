package ownership

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// roomy returns a volume with so many MiB free, of a reserve of 16.
func roomy(t *testing.T, free uint64) *volume.Volume {
	t.Helper()
	v, err := volume.Open(volume.Config{
		Dir: t.TempDir(), Reserve: 16 << 20, Fatal: func(err error) { t.Error(err) },
		Usage: func(string) (uint64, uint64, error) { return free << 20, 1000 << 20, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNoSpace: bad-input.md, row 60. What a disk that fills up has still room for:
// deletions and progress always; and that all is accepted again when it has space.
func TestNoSpace(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	old := subscribe(t, s, wish("http://example.com/old", "", webhook)).Channel
	grow(t, s, old, 1)
	for _, level := range []struct {
		free                  uint64
		begin, first, version error
	}{
		{1000, nil, nil, nil},
		{12, ErrNoSpace, ErrNoSpace, nil},
		{4, ErrNoSpace, ErrNoSpace, ErrNoSpace},
		{1000, nil, nil, nil},
	} {
		s.volume = nil
		doomed := subscribe(t, s, wish("http://example.com/new", "", stream))
		s.volume = roomy(t, level.free)
		t.Logf("%d MiB free: %s", level.free, s.volume.Level())

		results := s.Subscribe(ctx, []NewSubscription{wish("http://a.example/", "", stream), wish("http://b.example/", "key", stream)})
		for _, r := range results {
			wantError(t, r.Err, level.begin)
		}
		wantError(t, commitNext(s, doomed.Channel), level.first)
		wantError(t, commitNext(s, old), level.version)

		c, err := s.Channel(old)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, s.Advance(ctx, []channel.Progress{{Channel: old, Incarnation: c.Incarnation, Version: c.Version, Seq: 9}}), nil)
		sick, err := s.Endpoint(webhook.URL)
		wantError(t, err, nil)
		wantError(t, s.SetEndpoint(ctx, channel.Endpoint{URL: webhook.URL, State: channel.EndpointSuspended}, sick), nil)
		wantError(t, s.Unsubscribe(ctx, doomed.ID), nil)
		c, err = s.Channel(doomed.Channel)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, s.EndChannel(ctx, c.ID, c.Incarnation), nil)
		if progress, err := s.Progress(old); err != nil || progress.Seq != 9 {
			t.Errorf("progress %+v, %v", progress, err)
		}
	}
}

func commitNext(s *Store, id channel.ID) error {
	c, err := s.Channel(id)
	return errors.Join(err, s.Commit(context.Background(), nextCommit(c)))
}

// TestSmallVolume: bad-input.md, row 60. What a store gathers before it writes fits
// a small reserve.
func TestSmallVolume(t *testing.T) {
	cfg := testConfig(t)
	cfg.Volume = roomy(t, 100)
	if got := cfg.withDefaults().SnapshotBytes; got != 1<<20 {
		t.Errorf("log is truncated at %d bytes, want 1 MiB", got)
	}
	s := open(t, cfg)
	want := populate(t, s)
	s.snapshotAll()
	shut(t, s)
	same(t, describe(t, open(t, cfg)), want)
}
