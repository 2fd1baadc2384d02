package ownership

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// TestRest: a pause ends early when there is news, and without news when its context ends.
func TestRest(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	never, now := func() bool { return false }, func() bool { return true }
	if rest(t.Context(), time.Millisecond, never) || rest(ended, time.Hour, never) {
		t.Error("news, though there is none")
	}
	if !rest(t.Context(), time.Hour, now) {
		t.Error("no news")
	}
}

// TestMovedBucket: a command for a bucket that was split off waits for the table to say where
// that is, and makes no entries in the log of the range that had it.
func TestMovedBucket(t *testing.T) {
	t.Parallel()
	s := open(t, testConfig(t))
	var made channel.Subscription
	for i := 0; made.ID == "" || made.Channel.Bucket() == s.of(made.Channel.Bucket()).From; i++ {
		made = subscribe(t, s, wish(fmt.Sprint("http://example.com/", i), "", stream))
	}
	bucket := made.Channel.Bucket()
	if err := s.doHere(t.Context(), s.of(bucket), state.NewSplit(uint32(len(s.Table())), bucket, []string{string(s.meta.raftID)})); err != nil {
		t.Fatal(err)
	}
	before := counted(t, s.tools.metrics.entries)
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := s.Unsubscribe(soon, made.ID); err == nil {
		t.Error("a subscription was ended by a range that has it no more")
	}
	if entries := counted(t, s.tools.metrics.entries) - before; entries > 5 { // ranges tick by themselves
		t.Errorf("%v entries while a command waited", entries)
	}
}
