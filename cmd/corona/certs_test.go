package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// contents returns the files of a directory, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

// TestCerts: the files are there, with their modes; a second call adds names and
// replaces nothing; the part of them that a node is told to copy is enough for it.
func TestCerts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "certs")
	first := runCorona(t.Context(), "", "certs", "--dir", dir, "n1", "n2")
	if first.Code != cli.ExitDone || first.Errs != "" {
		t.Fatalf("exit code %d, standard error %q", first.Code, first.Errs)
	}
	for _, want := range []string{"CA made", "gossip key made", "n1: certificate made", "ca.pem n2.pem n2-key.pem gossip.key", "ca-key.pem stays here"} {
		if !strings.Contains(first.Out, want) {
			t.Errorf("printed %q, without %q", first.Out, want)
		}
	}
	before := contents(t, dir)
	want := []string{"ca-key.pem", "ca.pem", "gossip.key", "n1-key.pem", "n1.pem", "n2-key.pem", "n2.pem"}
	if got := slices.Sorted(maps.Keys(before)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	for name := range before {
		mode := fs.FileMode(0o600)
		if strings.HasSuffix(name, ".pem") && !strings.HasSuffix(name, "-key.pem") {
			mode = 0o644
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}

	second := runCorona(t.Context(), "", "certs", "--dir", dir, "n2", "n3", "--json")
	var made madeCerts
	if err := json.Unmarshal([]byte(second.Out), &made); err != nil || second.Code != cli.ExitDone {
		t.Fatalf("exit code %d, %s%s, %v", second.Code, second.Out, second.Errs, err)
	}
	if made.CA || made.Key || len(made.Nodes) != 2 || made.Nodes[0].Made || !made.Nodes[1].Made || made.Nodes[1].Until.Before(time.Now().AddDate(1, 11, 0)) {
		t.Errorf("said %+v", made)
	}
	after := contents(t, dir)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
	for _, node := range made.Nodes {
		copied := t.TempDir()
		for _, file := range node.Files {
			if err := os.WriteFile(filepath.Join(copied, file), []byte(after[file]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := peer.LoadCredentials(copied, node.Name, time.Now)
		_, keyErr := peer.LoadGossipKey(copied)
		if err := errors.Join(err, keyErr); err != nil {
			t.Errorf("%s, of %q: %v", node.Name, node.Files, err)
		}
	}
}

func TestCertsRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "ca.pem"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"NAME is missing":              {},
		`node name "a/b"`:              {"n1", "a/b"},
		`node name ""`:                 {""},
		`node name "ca": want 1 to 64`: {"ca"},
		`node name "n1-key"`:           {"n1", "n1-key"},
		"--dir: want a directory":      {"--dir", "", "n1"},
		"ca.pem holds no CERTIFICATE":  {"--dir", full, "n1"},
	} {
		dir := filepath.Join(t.TempDir(), "certs")
		got := runCorona(t.Context(), "", append([]string{"certs", "--dir", dir}, args...)...)
		if got.Code != cli.ExitUsage || got.Out != "" || strings.Count(got.Errs, "\n") != 1 || !strings.Contains(got.Errs, want) {
			t.Errorf("%q: exit code %d, printed %q, said %q, want %q", args, got.Code, got.Out, got.Errs, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: the directory: %v; want none", args, err)
		}
	}
}
