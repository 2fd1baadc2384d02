//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// patchFigures count deltas between captures, updates or not, and those that did not
// make the new content of the old.
type patchFigures struct {
	Pairs    int `json:"pairs"`    // of consecutive captures that can be read
	Composed int `json:"composed"` // the same, applied to what the delta before made
	Jumps    int `json:"jumps"`    // over several captures at once
	Errors   int `json:"errors"`
}

// jumps are how many captures deltas go over, from every as many-th one.
var jumps = [...]int{2, 8, 64}

func (l *life) patches() (f patchFigures) {
	var cores []*deltas.Core
	for _, s := range l.steps {
		if s.Err == nil {
			cores = append(cores, s.Core)
		}
	}
	if len(cores) == 0 {
		return f
	}
	held := cores[0]
	for n, next := range cores[1:] {
		delta := deltas.MakeDelta(cores[n], next)
		f.Pairs++
		f.check(cores[n], next, delta)
		f.Composed++
		if made := f.check(held, next, delta); made != nil {
			held = made
		}
	}
	for _, jump := range jumps {
		for n := 0; n+jump < len(cores); n += jump {
			f.Jumps++
			f.check(cores[n], cores[n+jump], deltas.MakeDelta(cores[n], cores[n+jump]))
		}
	}
	return f
}

// check returns what a delta makes of base; nil, counted, if that is not next.
func (f *patchFigures) check(base, next *deltas.Core, delta []byte) *deltas.Core {
	made, err := deltas.ApplyDelta(base, delta)
	if err != nil || made.Hash != next.Hash || !bytes.Equal(made.Content(), next.Content()) {
		f.Errors++
		return nil
	}
	return made
}

func (f *patchFigures) plus(o patchFigures) {
	f.Pairs, f.Composed, f.Jumps, f.Errors = f.Pairs+o.Pairs, f.Composed+o.Composed, f.Jumps+o.Jumps, f.Errors+o.Errors
}

func (f *patchFigures) print(w io.Writer) {
	fmt.Fprintf(w, "  deltas of %d consecutive captures, %d applied to what the one before made, %d over 2, 8 and 64 captures: %d errors\n",
		f.Pairs, f.Composed, f.Jumps, f.Errors)
}
