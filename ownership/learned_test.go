package ownership

import (
	"context"
	"errors"
	"testing"
)

// TestLearned: what an owner learned of a channel is told and kept, through a
// snapshot and a restart, until a commit says otherwise or the channel ends.
func TestLearned(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	s := open(t, cfg)
	w := wish("http://example.com/", "", stream)
	sub := subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	for _, step := range []struct{ learned, want string }{{"", ""}, {"one", "one"}, {"", "one"}, {"two", "two"}} {
		if err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: 2, Version: 2, Learned: []byte(step.learned)}); err != nil {
			t.Fatal(err)
		}
		if c := channelAt(t, s, w.Channel); string(c.Learned) != step.want {
			t.Errorf("committed %q: learned %q, want %q", step.learned, c.Learned, step.want)
		}
	}
	s.snapshotAll()
	shut(t, s)
	s = open(t, cfg)
	page, err := s.Channels(nil, 10)
	if err != nil || len(page) != 1 || string(page[0].Learned) != "two" {
		t.Errorf("after a restart: %+v, %v", page, err)
	}
	if err := errors.Join(s.Unsubscribe(ctx, sub.ID), s.EndChannel(ctx, w.Channel, 1)); err != nil {
		t.Fatal(err)
	}
	subscribe(t, s, w)
	if c := channelAt(t, s, w.Channel); c.Incarnation != 2 || c.Learned != nil {
		t.Errorf("incarnation %d begins with %q learned", c.Incarnation, c.Learned)
	}
}
