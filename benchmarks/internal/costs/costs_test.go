package costs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var aRun = Run{Command: "go run ./x", Measured: "2026-11-24"}

// complete is a file that can be computed with.
func complete() *File {
	f := &File{Figures: make(map[string]Figure)}
	for _, name := range Names() {
		f.Put(name, 1, "bytes", aRun)
	}
	for nodes := range 3 {
		f.PutIdle(Idle{Nodes: nodes + 3, Ranges: 16, Processor: 1, Sent: 1, Resident: 1, Run: aRun})
	}
	f.PutChange(Change{Hops: 2, Processor: 1, Run: aRun})
	f.PutChange(Change{Hops: 1, Processor: 1, Run: Run{Command: "go run ./y", Measured: "2026-11-24"}})
	return f
}

func TestValidate(t *testing.T) {
	if err := complete().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(f *File){
		"missing":            func(f *File) { delete(f.Figures, Poll) },
		"zero":               func(f *File) { f.Put(Poll, 0, "seconds", aRun) },
		"negative":           func(f *File) { f.Put(Poll, -1, "seconds", aRun) },
		"of no command":      func(f *File) { f.Put(Poll, 1, "seconds", Run{Measured: "2026-11-24"}) },
		"of no day":          func(f *File) { f.Put(Poll, 1, "seconds", Run{Command: "x"}) },
		"idle for nothing":   func(f *File) { f.Idle[1].Processor = 0 },
		"silent idle":        func(f *File) { f.Idle[1].Sent = 0 },
		"two idle":           func(f *File) { f.Idle = f.Idle[:2] },
		"one kind of change": func(f *File) { f.Changes = f.Changes[:1] },
		"change for nothing": func(f *File) { f.Changes[0].Processor = 0 },
	} {
		f := complete()
		spoil(f)
		if err := f.Validate(); !errors.Is(err, ErrCosts) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Runs fill a file one by one, and what is measured once more takes the place of what was.
func TestUpdate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "costs.json")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(Update(name, func(f *File) { f.Put(Poll, 7, "seconds", aRun) }))
	must(Update(name, func(f *File) { *f = *merged(f, complete()) }))
	must(Update(name, func(f *File) {
		f.PutIdle(Idle{Nodes: 3, Ranges: 16, Processor: 5, Sent: 5, Resident: 5, Run: aRun})
		f.PutChange(Change{Hops: 9, Processor: 9, Run: aRun})
	}))
	file, err := os.Open(name)
	must(err)
	defer file.Close()
	f, err := Read(file)
	must(err)
	if f.Figures[Poll].Value != 7 || f.Figures[News].Value != 1 || len(f.Idle) != 3 || f.Idle[0].Sent != 5 || len(f.Changes) != 2 || f.Changes[1].Hops != 9 {
		t.Errorf("%+v", f)
	}
	if err := Update("", func(*File) { t.Error("changed a file that there is not") }); err != nil {
		t.Error(err)
	}
	must(os.WriteFile(name, []byte("{"), 0o600))
	if err := Update(name, func(*File) {}); err == nil {
		t.Error("a broken file was written over")
	}
}

// merged is what both have, the first before the second.
func merged(first, second *File) *File {
	for name, figure := range first.Figures {
		second.Figures[name] = figure
	}
	return second
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", `{"figure":{}}`, `{"figures":[]}`} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrCosts) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWithoutFiles(t *testing.T) {
	got := withoutFiles([]string{"-calm", "40s", "-costs", "x.json", "--out", "y", "-nodes", "5"})
	if !slices.Equal(got, []string{"-calm", "40s", "-nodes", "5"}) {
		t.Error(got)
	}
}
