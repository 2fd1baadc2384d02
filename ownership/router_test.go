package ownership

import (
	"context"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestRest: a call that pauses until a range has a leader ends its pause when this node learns of
// another leader, or that the bucket belongs to another range, however long the pause would be.
func TestRest(t *testing.T) {
	t.Parallel()
	s := open(t, testConfig(t))
	const bucket = channel.Bucket(channel.Buckets - 1)
	before := s.router.of(bucket)
	leader := before.elected()
	if leader == "" {
		t.Fatal("a node alone knows no leader")
	}
	if s.router.rest(t.Context(), bucket, before, leader, time.Millisecond) {
		t.Error("news, though nothing has changed")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if s.router.rest(ended, bucket, before, leader, time.Hour) {
		t.Error("news, though the context has ended")
	}
	if !s.router.rest(t.Context(), bucket, before, "", time.Hour) {
		t.Error("no news of a leader")
	}
	splitTo(t, s, 2*len(s.Ranges()))
	if !s.router.rest(t.Context(), bucket, before, leader, time.Hour) {
		t.Error("no news of the range that has the bucket now")
	}
}
