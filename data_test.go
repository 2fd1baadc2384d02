package corona_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
)

// newer returns files of a data directory that say, each by itself, that a newer
// program wrote it.
func newer() map[string]string {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	ledger := make([]byte, 64)
	ledger[4], ledger[8] = 'L', 2
	binary.LittleEndian.PutUint32(ledger, crc32.Checksum(ledger[4:], castagnoli))
	return map[string]string{
		"corona.json":   `{"format":2,"name":"alpha","incarnation":"00","created":"2026-01-02T03:04:05Z","crc32c":1}`,
		"ranges/FORMAT": "99\n",
		"ranges/log/marker.format-version.000099.999":   "",
		"ranges/state/marker.format-version.000099.999": "",
		"cache/marker.format-version.000099.999":        "",
		"cache/FORMAT":                                  fmt.Sprintf("2 %08x\n", crc32.Checksum([]byte("2"), castagnoli)),
		"cache/ledger":                                  string(ledger),
	}
}

// Whichever file of a data directory is a newer program's, nothing in the directory is
// touched, not even the time of a lock file: row 64.
func TestRow64NothingTouched(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	closeNode(t, open(t, data))
	for name, content := range newer() {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		before := tree(t, dir)
		node, err := corona.Open(t.Context(), corona.Config{Data: dir})
		if err == nil {
			closeNode(t, node)
		}
		var refusal *datadir.FormatError
		if !errors.As(err, &refusal) || refusal.File != filepath.Join(dir, name) || refusal.Have <= refusal.Supported {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range []string{refusal.File, fmt.Sprintf("format %d", refusal.Have), fmt.Sprintf("up to %d", refusal.Supported)} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
		if after := tree(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: directory was\n%s\nis\n%s", name, lines(before), lines(after))
		}
	}
}

// tree returns what there is to see of everything in a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		seen[path] = fmt.Sprintf("%s %d %s %x", info.Mode(), info.Size(), info.ModTime(), crc32.ChecksumIEEE(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func lines(tree map[string]string) (text string) {
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		text += path + " " + tree[path] + "\n"
	}
	return text
}

// Another number of ranges than the directory's is refused; none, and its own, are not.
func TestRangesStay(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, step := range []struct {
		ask, want int // want 0: refused
	}{{3, 3}, {0, 3}, {4, 0}, {16, 0}, {3, 3}} {
		node, err := corona.Open(t.Context(), corona.Config{Data: data, Ranges: step.ask})
		if step.want == 0 {
			if !errors.Is(err, corona.ErrConfig) || !strings.Contains(err.Error(), "was made with 3, which cannot be changed to") {
				t.Errorf("%d ranges: %v", step.ask, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d ranges: %v", step.ask, err)
		}
		status, err := node.Status(t.Context())
		if err != nil || len(status.Cluster.Ranges) != step.want {
			t.Errorf("%d ranges asked for: %+v, %v; want %d", step.ask, status, err, step.want)
		}
		closeNode(t, node)
	}
}

// The ballast is made for the first subscription, not for a node without any.
func TestBallastForFirstSubscription(t *testing.T) {
	data := t.TempDir()
	ballast := filepath.Join(data, "BALLAST")
	node, err := corona.Open(t.Context(), corona.Config{Data: data, DiskReserve: 16 << 20, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { closeNode(t, node) }()
	if _, err := os.Stat(ballast); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ballast at the first start: %v; want none", err)
	}
	subscribe(t, node, newGrowing(t).URL, "k")
	wait, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if info, err := os.Stat(ballast); err == nil && info.Size() == 4<<20 {
			return
		}
		if wait.Err() != nil {
			t.Fatalf("no ballast %s after the first subscription", patience)
		}
	}
}
