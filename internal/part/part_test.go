package part

import (
	"context"
	"runtime/pprof"
	"testing"
)

func TestDo(t *testing.T) {
	of := func(ctx context.Context) string {
		name, _ := pprof.Label(ctx, label)
		return name
	}
	Do(t.Context(), Poll, func(poll context.Context) {
		if of(poll) != "poll" {
			t.Errorf("part %q", of(poll))
		}
		Do(poll, Judge, func(judge context.Context) {
			if of(judge) != "judge" || of(poll) != "poll" {
				t.Errorf("part %q within %q", of(judge), of(poll))
			}
		})
	})
}
