//go:build linux

package main

import "testing"

func TestLiveOf(t *testing.T) {
	got := liveOf(map[string]int64{
		"corona/primary": 1, "corona/ownership/internal/state": 2, "corona/honeycomb/local": 4, "corona/notify/stream": 8,
		"corona/engine": 16, "corona/engine/store": 32, "corona/deltas/codec": 64,
		"corona/wedge": 128, "corona": 256, "runtime": 512,
	})
	want := live{owners: 143, pollers: 48, others: 832, largest: "runtime 0.0, corona 0.0, wedge 0.0, deltas/codec 0.0, engine/store 0.0, engine 0.0, notify/stream 0.0, honeycomb/local 0.0"}
	if got != want || got.state() != 191 {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMemory(t *testing.T) {
	one, idle := live{owners: 110, pollers: 220, others: 1000}, live{owners: 10, pollers: 20, others: 30}
	if got := memory(50, one, idle, 3./5, 1./4); got < 50+1.1*110-1e-9 || got > 50+1.1*110+1e-9 {
		t.Errorf("%v, want 171", got)
	}
}
