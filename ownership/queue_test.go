package ownership

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(&clock{now: time.Now})
		big := func() *proposal { return newProposal(make([]byte, maxQueued/2)) }
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			if err := q.push(ctx, big()); err != nil {
				t.Fatal(err)
			}
		}
		var third, fourth error
		go func() { third = q.push(ctx, newProposal([]byte("third"))) }()
		synctest.Wait()
		if q.size() != maxQueued {
			t.Fatalf("%d bytes queued, want %d: the bound does not hold", q.size(), maxQueued)
		}
		first, _ := q.take()
		synctest.Wait()
		if len(first) != 1 || third != nil || q.size() != maxQueued/2+5 {
			t.Fatalf("took %d, third %v, %d bytes", len(first), third, q.size())
		}
		go func() { fourth = q.push(ctx, big()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		wantError(t, fourth, context.Canceled)
		q.close()
		wantError(t, q.push(t.Context(), big()), ErrClosed)
		for range 2 {
			if items, end := q.take(); len(items) != 1 || end {
				t.Errorf("what was queued is lost: %d, %v", len(items), end)
			}
		}
		if _, end := q.take(); !end {
			t.Error("closed and empty, but no end")
		}
	})
}

// TestEntriesStayBelowMegabyte: entries are cut at 1 MiB, in order, and a larger
// command goes alone.
func TestEntriesStayBelowMegabyte(t *testing.T) {
	q := newQueue(&clock{now: time.Now})
	sizes := []int{maxEntry / 2, maxEntry / 2, 1, maxEntry + 1, 1, 2, 3}
	for _, size := range sizes {
		if err := q.push(t.Context(), newProposal(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
	}
	var cuts []int
	last := uint64(0)
	for {
		items, _ := q.take()
		if len(items) == 0 {
			break
		}
		cuts = append(cuts, len(items))
		for _, p := range items {
			if p.time <= last {
				t.Errorf("time %d after %d", p.time, last)
			}
			last = p.time
		}
	}
	if want := []int{2, 1, 1, 3}; !slices.Equal(cuts, want) {
		t.Errorf("entries of %v commands, want %v", cuts, want)
	}
}
