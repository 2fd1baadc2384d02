package ownership

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestForget: what is forgotten stays so, through a snapshot and a restart; no commit
// that was judged before brings it back, and no version, update or identity goes.
func TestForget(t *testing.T) {
	ctx := context.Background()
	observer := &moves{}
	cfg := testConfig(t)
	cfg.Observer = observer
	s := open(t, cfg)
	w := wish("http://example.com/", "", stream)
	subscribe(t, s, w)
	grow(t, s, w.Channel, 3)
	held := Commit{Channel: w.Channel, Incarnation: 1, Base: 3, Version: 3, Judge: []byte("much"), Held: true,
		Hold: channel.Hold{Since: time.UnixMicro(5e6).UTC(), Reason: "removal"}}
	if err := s.Commit(ctx, held); err != nil {
		t.Fatal(err)
	}
	before := channelAt(t, s, w.Channel)
	if before.Hold != held.Hold || !before.Held || before.Forgotten != 0 {
		t.Fatalf("held: %+v", before)
	}
	observer.told = nil
	if err := s.Forget(ctx, before, []byte("little")); err != nil {
		t.Fatal(err)
	}
	want := before
	want.Judge, want.Held, want.Hold, want.Forgotten = []byte("little"), false, channel.Hold{}, 1
	if got := channelAt(t, s, w.Channel); !reflect.DeepEqual(got, want) || len(observer.told) != 1 {
		t.Errorf("told %d times of %+v, want once %+v", len(observer.told), got, want)
	}
	if err := s.Commit(ctx, held); !errors.Is(err, ErrStale) {
		t.Errorf("a commit judged before: %v, want ErrStale", err)
	}
	s.snapshotAll()
	shut(t, s)
	s = open(t, cfg)
	if got := channelAt(t, s, w.Channel); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart %+v, want %+v", got, want)
	}
	if seen, err := s.Seen(w.Channel); err != nil || len(seen) != 6 {
		t.Errorf("%d identities, %v", len(seen), err)
	}
	held.Forgotten = 1
	if err := s.Commit(ctx, held); err != nil {
		t.Errorf("a commit judged after: %v", err)
	}
}

// TestForgetStale: forgetting is refused where the channel is no longer what the new
// state was made from, and where the disk is full.
func TestForgetStale(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	now := channelAt(t, s, w.Channel)
	for name, change := range map[string]func(*channel.Channel){
		"unknown channel": func(c *channel.Channel) { c.ID = channel.IDOf("http://other.example/") },
		"incarnation":     func(c *channel.Channel) { c.Incarnation++ },
		"version":         func(c *channel.Channel) { c.Version-- },
		"content":         func(c *channel.Channel) { c.Hash[0]++ },
	} {
		ch := now
		change(&ch)
		if err := s.Forget(ctx, ch, []byte("little")); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v, want ErrStale", name, err)
		}
	}
	if err := s.Forget(ctx, now, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("without a state: %v, want ErrInvalid", err)
	}
	if got := channelAt(t, s, w.Channel); !reflect.DeepEqual(got, now) {
		t.Errorf("refused, and left %+v", got)
	}
}
