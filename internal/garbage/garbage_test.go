package garbage

import (
	"runtime/debug"
	"testing"
)

func TestPercentOf(t *testing.T) {
	for live, want := range map[uint64]int{
		0: most, 1 << 20: most, 32 << 20: 200, 80 << 20: 80, 110 << 20: 60, 1 << 40: 60,
	} {
		if got := percentOf(live); got != want {
			t.Errorf("%d live bytes: %d percent, want %d", live, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "77")
	Limit(t.Context())
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC set: %d percent", got)
	}
	t.Setenv("GOGC", "")
	Limit(t.Context())
	if got := debug.SetGCPercent(100); got < 2*percent {
		t.Errorf("the small heap of a test: %d percent", got)
	}
}
