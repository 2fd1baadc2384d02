//go:build unix

package main

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// speedFigures are what a history's captures cost from body to verdict, in time of
// the processor, the collector's included.
type speedFigures struct {
	Bodies    int     `json:"bodies"` // that differ from the one before, and can be read
	Bytes     int     `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	HashBytes int     `json:"hash_bytes"` // of all captures
	HashTime  float64 `json:"hash_seconds"`
	Allocs    float64 `json:"unchanged_allocations"` // to know a body again by its hash
}

// hashRounds is how often each body is hashed: once is too short to be timed.
const hashRounds = 20

// speed times what a poll does with each capture: hash the body and, if that is
// another, read it beside the content held and judge it.
func (l *life) speed() (f speedFigures) {
	var state deltas.State
	var seen []uint64
	var base *deltas.Core
	last := uint64(0)
	for n, s := range l.steps {
		f.HashBytes += hashRounds * len(s.body)
		f.HashTime += cpuSeconds(func() {
			for range hashRounds {
				deltas.RawHash(s.body)
			}
		})
		hash := deltas.RawHash(s.body)
		if hash == last || s.Err != nil {
			continue
		}
		last = hash
		var core *deltas.Core
		var d deltas.Decision
		f.Bodies++
		f.Bytes += len(s.body)
		f.Seconds += cpuSeconds(func() {
			core, _ = deltas.Extract(deltas.Document{Body: s.body, Base: base})
			d = deltas.Judge(state, seen, base, deltas.Observation{Begun: l.at[n], Core: core})
		})
		state, seen = d.State, deltas.Remember(seen, d.NewSeen)
		if state.Current == core.Hash {
			base = core
		}
	}
	if len(l.steps) > 0 {
		body := l.steps[0].body
		f.Allocs = testing.AllocsPerRun(10, func() { deltas.RawHash(body) })
	}
	return f
}

func (f *speedFigures) plus(o speedFigures) {
	f.Bodies, f.Bytes, f.Seconds = f.Bodies+o.Bodies, f.Bytes+o.Bytes, f.Seconds+o.Seconds
	f.HashBytes, f.HashTime = f.HashBytes+o.HashBytes, f.HashTime+o.HashTime
	f.Allocs = max(f.Allocs, o.Allocs)
}

func (f *speedFigures) print(w io.Writer) {
	fmt.Fprintf(w, "  body to verdict %.2f ms, %.0f MB/s; raw hash %.1f GB/s; an unchanged body takes %g allocations\n",
		1000*f.Seconds/float64(max(f.Bodies, 1)), float64(f.Bytes)/1e6/max(f.Seconds, 1e-9), float64(f.HashBytes)/1e9/max(f.HashTime, 1e-9), f.Allocs)
}

// cpuSeconds returns the processor time of the process that f takes.
func cpuSeconds(f func()) float64 {
	begun := cpuTime()
	f()
	return (cpuTime() - begun).Seconds()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the argument is constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
