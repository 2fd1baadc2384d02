package schedule

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/engine/pace"
)

// A host that serves eight requests and then asks for a minute of rest, as long as
// two rounds of its twenty channels: none of them starves, though their slots come
// in the same order after each rest, and one that is refused whenever it is asked
// stops no other.
func TestRestStarvesNobody(t *testing.T) {
	tests := []struct {
		name      string
		bad, want int // the channel that is refused always; what the others are served in an hour, at least
	}{
		{"a limit", -1, 10},
		{"a path that is refused always", 70, 4}, // and makes the gap grow
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newRig(Config{Interval: 30 * time.Second, Floor: 5 * time.Second})
			now := int64(1e18)
			for i := range 20 {
				s.order(10*i, 1, now)
			}
			served, left := make(map[int]int), 8
			for end := now + int64(time.Hour); now < end; now = max(now+1, s.NextDue()) {
				s.Promote(true, now)
				for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
					i := p.Target.Channel.i
					reply := Reply{Status: 304, Took: time.Millisecond}
					if left--; left < 0 || i == test.bad {
						reply, left = Reply{Status: 429, RetryAfter: pace.RetryAfter{After: time.Minute, Given: true}}, 8
					} else {
						served[i]++
					}
					s.end(p, reply, Result{}, now+1)
				}
			}
			for i := range 20 {
				if 10*i != test.bad && served[10*i] < test.want {
					t.Errorf("channel %d was served %d times in an hour", 10*i, served[10*i])
				}
			}
		})
	}
}
