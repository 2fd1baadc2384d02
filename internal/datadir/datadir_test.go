package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestOpenKeepsIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "data")
	first, err := Open(path, "", "127.0.0.1:1", start)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Identity.Name, "node-") || first.Identity.Incarnation == "" {
		t.Errorf("identity %+v", first.Identity)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(path, "", "127.0.0.1:2", start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Identity != first.Identity {
		t.Errorf("identity %+v became %+v", first.Identity, second.Identity)
	}
}

func TestOpenRefusesSecondProcess(t *testing.T) { // row 63
	path := t.TempDir()
	first, err := Open(path, "alpha", "127.0.0.1:8410", start)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, "alpha", "127.0.0.1:8411", start)
	if !errors.Is(err, ErrHeld) {
		t.Fatalf("second Open: %v, want ErrHeld", err)
	}
	for _, want := range []string{path, `"alpha"`, "127.0.0.1:8410", "2026-01-02T03:04:05Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	if err := Held(path); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), `"alpha"`) {
		t.Errorf("Held: %v, want ErrHeld by alpha", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Held(path), Held(filepath.Join(path, "missing"))); err != nil {
		t.Errorf("Held after Close, and without a directory: %v", err)
	}
	again, err := Open(path, "alpha", "127.0.0.1:8411", start)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	again.Close()
}

func TestOpenRefusesNewerUntouched(t *testing.T) { // row 64
	path := t.TempDir()
	text := []byte(`{"format":2,"name":"alpha","incarnation":"00","created":"2026-01-02T03:04:05Z"}`)
	if err := os.WriteFile(filepath.Join(path, identityFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, "", "", start); !errors.Is(err, ErrNewer) {
		t.Fatalf("Open: %v, want ErrNewer", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v, %v; want the one file that was there", entries, err)
	}
	after, err := os.ReadFile(filepath.Join(path, identityFile))
	if err != nil || string(after) != string(text) {
		t.Errorf("identity is now %s, %v", after, err)
	}
}

func TestOpenRefusesOtherNameAndJunk(t *testing.T) {
	path := t.TempDir()
	first, err := Open(path, "alpha", "", start)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if _, err := Open(path, "beta", "", start); err == nil || !strings.Contains(err.Error(), `belongs to node "alpha"`) {
		t.Errorf("other name: %v", err)
	}
	for _, junk := range []string{"", "{", `{"format":1}`} {
		if err := os.WriteFile(filepath.Join(path, identityFile), []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, "", "", start); err == nil {
			t.Errorf("identity %q accepted", junk)
		}
	}
}

// A bit that changed in the file is found, or changes nothing of what it says: row 59.
func TestRow59Identity(t *testing.T) {
	path := t.TempDir()
	first, err := Open(path, "alpha", "", start)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(path, identityFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for bit := range 8 * len(whole) {
		changed := slices.Clone(whole)
		changed[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(name, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		switch identity, err := readIdentity(path); {
		case err != nil || identity.Format > Format:
			found++
		case identity != first.Identity:
			t.Errorf("bit %d: identity %+v, was %+v", bit, identity, first.Identity)
		}
	}
	if found < 4*len(whole) {
		t.Errorf("of %d bits only %d were found", 8*len(whole), found)
	}
}
