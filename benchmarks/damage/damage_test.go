package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestDamage: every damage that is drawn changes something within the file, and the
// same seed draws the same.
func TestDamage(t *testing.T) {
	content := bytes.Repeat([]byte{0xA5}, 1000)
	one, two := rand.New(rand.NewPCG(7, 0)), rand.New(rand.NewPCG(7, 0))
	seen := make(map[string]int)
	for range 500 {
		d := draw(one, "ranges/log/000012.log", len(content))
		if again := draw(two, d.file, len(content)); again != d {
			t.Fatalf("drew %v, then %v", d, again)
		}
		got := d.apply(bytes.Clone(content))
		if bytes.Equal(got, content) || len(got) > len(content) || !bytes.Equal(got[:d.at], content[:d.at]) {
			t.Errorf("%v left %d bytes, equal %v", d, len(got), bytes.Equal(got, content))
		}
		seen[d.kind]++
		if d.fileKind() != "ranges/log/*.log" {
			t.Fatalf("file kind %q", d.fileKind())
		}
	}
	for _, kind := range kinds {
		if seen[kind] < 100 {
			t.Errorf("%d of 500 are %s", seen[kind], kind)
		}
	}
}

// TestJudge: what is missing, or back, is a violation, unless it was acknowledged
// right before a kill at work.
func TestJudge(t *testing.T) {
	end := time.Now()
	old, late := end.Add(-time.Minute), end.Add(-lateFor/2)
	acks := []*acknowledged{
		{id: "kept", at: old}, {id: "deleted", at: old, deletedAt: old},
		{id: "kept late", at: late}, {id: "deleted late", at: old, deletedAt: late},
	}
	for _, test := range []struct {
		have      string
		idle      outcome
		busy      outcome
		violation bool // of a busy one
	}{
		{"kept,kept late", whole, whole, false},
		{"kept", lost, lateLoss, false},
		{"kept,kept late,deleted late", back, lateLoss, false},
		{"kept late", lost, lost, true},
		{"kept,kept late,deleted", back, back, true},
	} {
		have := make(map[string]bool)
		for _, id := range strings.Split(test.have, ",") {
			have[id] = true
		}
		for stop, want := range map[string]outcome{stopIdle: test.idle, stopBusy: test.busy} {
			p := &prepared{stop: stop, end: end, acks: acks}
			if got, _ := p.judge(have); got != want || stop == stopBusy && got.violation() != test.violation {
				t.Errorf("%s with %s: %s, want %s", stop, test.have, got, want)
			}
		}
	}
}
