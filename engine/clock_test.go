package engine

import (
	"testing"
	"time"
)

func TestStepClock(t *testing.T) {
	c := stepClock{ahead: 1e18}
	tests := []struct {
		wall    int64
		running time.Duration
		want    time.Duration
	}{
		{1e18 + 60e9, 60 * time.Second, 0},
		{1e18 + 120e9 + 5e8, 120 * time.Second, 0}, // slewed
		{1e18 + 3720e9 + 5e8, 120 * time.Second, time.Hour},
		{1e18 + 3780e9 + 5e8, 180 * time.Second, 0},
		{1e18 + 180e9 + 5e8, 180 * time.Second, -time.Hour},
	}
	for _, test := range tests {
		if got := c.step(test.wall, test.running); got != test.want {
			t.Errorf("wall %d after %v: step %v, want %v", test.wall, test.running, got, test.want)
		}
	}
}

// A turn of the loop that finds the clock set moves what was noted with it, once.
func TestTurnFollowsTheClock(t *testing.T) {
	e, target := newStatic(t, notModifiedAnswer())
	e.Drop(target.ID)
	dropped, _ := target.Due() // of a dormant channel: since when
	e.turn(0)
	if due, _ := target.Due(); due != dropped || counterValue(t, e.metrics.clockSteps) != 0 {
		t.Errorf("moved by %v though no clock was set", time.Duration(due-dropped))
	}
	e.turn(8 * time.Hour)
	if due, _ := target.Due(); due-dropped != int64(8*time.Hour) || counterValue(t, e.metrics.clockSteps) != 1 {
		t.Errorf("moved by %v, %v steps counted; want 8 h, 1", time.Duration(due-dropped), counterValue(t, e.metrics.clockSteps))
	}
}
