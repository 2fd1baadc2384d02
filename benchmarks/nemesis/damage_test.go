//go:build linux

package main

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlipBit(t *testing.T) {
	folder := t.TempDir()
	content := bytes.Repeat([]byte("abc"), 1000)
	for _, name := range []string{"000001.sst", "000002.log", "MANIFEST-000003"} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	what, err := flipBit(rand.New(rand.NewPCG(1, 1)), folder)
	if err != nil || !strings.Contains(what, " of 3000 bytes") {
		t.Fatalf("%q, %v", what, err)
	}
	flipped := 0
	for _, name := range []string{"000001.sst", "000002.log"} {
		have, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || len(have) != len(content) {
			t.Fatalf("%s: %d bytes, %v", name, len(have), err)
		}
		for i := range have {
			flipped += bits.OnesCount8(have[i] ^ content[i])
		}
	}
	if flipped != 1 {
		t.Errorf("%d bits are others, want 1", flipped)
	}
	if what, err := flipBit(rand.New(rand.NewPCG(1, 1)), t.TempDir()); err == nil {
		t.Errorf("%q in an empty folder", what)
	}
}

func TestCutTail(t *testing.T) {
	folder := t.TempDir()
	for name, size := range map[string]int{"000007.log": 500, "000012.log": 1 << 20, "000013.sst": 10} {
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	what, err := cutTail(rand.New(rand.NewPCG(1, 1)), folder)
	if err != nil || !strings.Contains(what, "000012.log from 1048576 to") {
		t.Fatalf("%q, %v", what, err)
	}
	info, err := os.Stat(filepath.Join(folder, "000012.log"))
	if err != nil || info.Size() >= 1<<20 || info.Size() < 1<<20-64<<10 {
		t.Errorf("%d bytes are left, %v", info.Size(), err)
	}
	if what, err := cutTail(rand.New(rand.NewPCG(1, 1)), t.TempDir()); err == nil {
		t.Errorf("%q in an empty folder", what)
	}
}
