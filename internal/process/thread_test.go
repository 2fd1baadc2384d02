//go:build unix

package process

import (
	"testing"
	"time"
)

// TestTimed checks that time spent waiting does not count, and time spent computing does.
func TestTimed(t *testing.T) {
	const pause, work = 300 * time.Millisecond, 20 * time.Millisecond
	used := Timed(func() {
		time.Sleep(pause)
		for begun := threadTime(); threadTime()-begun < work; {
		}
	})
	if used < work || used > pause/2 {
		t.Errorf("a pause of %v and work of %v took %v of the processor", pause, work, used)
	}
}
