package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// switches is the file that an instrumented package gets beside its own.
//
//go:embed switches.go.txt
var switches string

// instrumented returns a file with its mutants written in.
func instrumented(f *file, mutants []mutant) []byte {
	var edits []edit
	for i := range mutants {
		if mutants[i].file == f && mutants[i].fate != refused {
			edits = append(edits, mutants[i].edits...)
		}
	}
	slices.SortStableFunc(edits, compareEdits)
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(f.text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(f.text[at:])
	return out.Bytes()
}

// compareEdits orders edits by place: what ends before what begins, the innermost
// end first, the outermost beginning first.
func compareEdits(a, b edit) int {
	if c := cmp.Compare(a.from, b.from); c != 0 {
		return c
	}
	switch {
	case a.ends && !b.ends:
		return -1
	case b.ends && !a.ends:
		return 1
	case a.ends:
		return cmp.Compare(a.size, b.size)
	}
	return cmp.Compare(b.size, a.size)
}

// write puts the instrumented files and their overlay into a directory and returns
// the overlay's path.
func (p *source) write(dir string) (string, error) {
	replace := make(map[string]string)
	put := func(original string, text []byte) error {
		path := filepath.Join(dir, filepath.Base(original))
		replace[original] = path
		return os.WriteFile(path, text, 0o600)
	}
	for _, f := range p.files {
		if err := put(f.path, instrumented(f, p.mutants)); err != nil {
			return "", err
		}
	}
	text := strings.NewReplacer("PACKAGE", p.name, "MUTANTS+2", strconv.Itoa(len(p.mutants)+2)).Replace(switches)
	if err := put(filepath.Join(p.dir, "mutant_switches.go"), []byte(text)); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}
