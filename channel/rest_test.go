package channel

import (
	"testing"
	"time"
)

// TestRestMerge: the later end stands with its turn, and the more refusals, whichever
// comes first.
func TestRestMerge(t *testing.T) {
	at := time.Unix(1e9, 0)
	early := Rest{Host: ID{1}, Until: at, Refusals: 3, Turn: 7}
	late := Rest{Host: ID{1}, Until: at.Add(time.Second), Refusals: 1, Turn: 9}
	want := Rest{Host: ID{1}, Until: at.Add(time.Second), Refusals: 3, Turn: 9}
	if a, b := early.Merge(late), late.Merge(early); a != want || b != want {
		t.Errorf("%+v and %+v, want %+v", a, b, want)
	}
}
