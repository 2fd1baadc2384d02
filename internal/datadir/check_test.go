package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory with files of others is not taken, and nothing is written to it.
func TestForeign(t *testing.T) {
	for _, test := range []struct {
		holds   []string
		foreign string // "": taken
	}{
		{nil, ""},
		{[]string{"lost+found/", ".DS_Store"}, ""},
		{[]string{"LOCK", "corona.json.new"}, ""}, // a first start that was cut short
		{[]string{"lost+found/", "notes.txt"}, `"notes.txt"`},
		{[]string{".ssh/"}, `".ssh"`},
		{[]string{"ranges/", "cache/"}, `"cache"`}, // a node's, that has lost its identity
	} {
		path := t.TempDir()
		for _, name := range test.holds {
			put(t, filepath.Join(path, name), strings.HasSuffix(name, "/"))
		}
		dir, err := Open(path, "", "", start)
		if test.foreign == "" {
			if err != nil {
				t.Errorf("%q: %v", test.holds, err)
				continue
			}
			dir.Close()
			continue
		}
		if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), test.foreign) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", test.holds, err)
		}
		if left, err := os.ReadDir(path); err != nil || len(left) != len(test.holds) {
			t.Errorf("%q: holds %v now, %v", test.holds, left, err)
		}
	}
}

func put(t *testing.T, path string, folder bool) {
	t.Helper()
	write := func() error { return os.WriteFile(path, nil, 0o600) }
	if folder {
		write = func() error { return os.Mkdir(path, 0o700) }
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
}

func TestFileForDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, false)
	if _, err := Open(path, "", "", start); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open: %v", err)
	}
}

func TestCheckStore(t *testing.T) {
	for name, newer := range map[string]bool{
		"marker.format-version.000011.024": false, "marker.format-version.000012.025": true, "marker.format-version.000012.x": false,
		"marker.manifest.000002.MANIFEST-000099": false, "000099.sst": false,
	} {
		err := CheckStore("state", []string{"CURRENT", name}, 24)
		if errors.Is(err, ErrNewer) != newer || newer && !strings.Contains(err.Error(), filepath.Join("state", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
