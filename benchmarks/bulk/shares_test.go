//go:build linux

package main

import (
	"slices"
	"testing"
)

func TestShares(t *testing.T) {
	for _, test := range []struct {
		subscriptions, channels int
		want                    []uint32
	}{
		{3, 3, []uint32{1, 1, 1}},
		{1003, 3, []uint32{439, 310, 254}}, // 1000 by 1, 0.707 and 0.577, and 1 each
		{100, 1, []uint32{100}},
	} {
		if got := shares(test.subscriptions, test.channels); !slices.Equal(got, test.want) {
			t.Errorf("%d subscriptions: %v, want %v", test.subscriptions, got, test.want)
		}
	}
	many := shares(5_000_000, 100_000)
	sum := 0
	for _, n := range many {
		sum += int(n)
	}
	if sum != 5_000_000 {
		t.Errorf("%d subscriptions in all, want 5000000", sum)
	}
	if got := len(shuffled(many)); got != sum {
		t.Errorf("%d in order, want %d", got, sum)
	}
}
