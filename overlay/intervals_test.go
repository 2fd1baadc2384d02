package overlay

import (
	"testing"
	"time"
)

func TestIntervalsOf(t *testing.T) {
	const halfHour = 30 * time.Minute
	for distance, want := range map[time.Duration]uint8{
		0: 1, time.Second: 1, halfHour: 1, halfHour + 1: 2, time.Hour: 2, time.Hour + 1: 3, 24 * time.Hour: 48, 240 * time.Hour: 48,
	} {
		if got := IntervalsOf(distance, halfHour); got != want {
			t.Errorf("%v is %d intervals, want %d", distance, got, want)
		}
	}
}
