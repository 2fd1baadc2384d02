package state

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMayTrim: the rules, as properties.
func TestMayTrim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		age := time.Duration(rapid.Int64Range(0, int64(200*time.Hour)).Draw(t, "age"))
		delivered := rapid.Bool().Draw(t, "delivered")
		may := mayTrim(age, delivered)
		switch {
		case may && age < KeepForCursors, may && !delivered && age < KeepAtMost, !may && age >= KeepAtMost:
			t.Fatalf("age %v, delivered %v: %v", age, delivered, may)
		}
		version := rapid.Uint64().Draw(t, "version")
		if through := lastTrimmable(version); version-through < min(KeepVersions, version) {
			t.Fatalf("of version %d all up to %d may go", version, through)
		}
	})
	if got := age(5, 9); got != 0 {
		t.Errorf("age of the future is %v", got)
	}
}
