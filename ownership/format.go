package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// format is the newest number of a directory's layout that this program reads: FORMAT holds it
// in decimal. It grows when a program of before would misread what this one writes.
const format = 3

const (
	// formatMarked is the first format whose log says how far it was synced.
	formatMarked = 2
	// formatVersioned is that of directories whose logs may have commands of versionedFrom on. A
	// program that knows it goes by the version in the cluster's table; one that does not must
	// not open them.
	formatVersioned = 3
	versionedFrom   = 5
)

const formatFile = "FORMAT"

// CheckFormat returns a [*datadir.FormatError] if a newer program wrote the files in
// a directory of [Config.Dir]. It writes nothing.
func CheckFormat(dir string) error {
	for _, store := range []string{"log", "state"} {
		path := filepath.Join(dir, store)
		names, err := namesIn(path)
		if err != nil {
			return fmt.Errorf("read directory: %w", err)
		}
		if err := datadir.CheckStore(path, names, disk.NewestFormat); err != nil {
			return err
		}
	}
	have, err := readFormat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return datadir.CheckFormat(filepath.Join(dir, formatFile), have, format)
}

// namesIn returns the names of a directory's entries, none where there is none.
func namesIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// readFormat returns the format of a directory; its error wraps fs.ErrNotExist where
// it has none, ErrCorrupt where that is no number.
func readFormat(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		return 0, fmt.Errorf("read format: %w", err)
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || have < 1 {
		return 0, disk.Corrupt("%s holds %.20q, want a format number", filepath.Join(dir, formatFile), text)
	}
	return have, nil
}

// checkFormat refuses a directory that this program must not write to, before
// anything is written, and marks an empty one. It returns the directory's format.
func checkFormat(dir string) (have int, err error) {
	if err := CheckFormat(dir); err != nil {
		return 0, err
	}
	if have, err = readFormat(dir); errors.Is(err, fs.ErrNotExist) {
		return formatMarked, markFormat(dir)
	}
	return have, err
}

func markFormat(dir string) error {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	if err := datadir.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != formatFile+".new" {
			return fmt.Errorf("%w: %s holds %q but no %s", ErrForeign, dir, entry.Name(), formatFile)
		}
	}
	return writeFormat(dir, formatMarked)
}

func writeFormat(dir string, format int) error {
	return writeDurably(dir, formatFile, []byte(strconv.Itoa(format)+"\n"))
}

// raiseFormat keeps programs that know no versions from a directory whose cluster is at one
// that they do not apply.
func raiseFormat(dir string, version uint32) error {
	if version < versionedFrom {
		return nil
	}
	if have, err := readFormat(dir); err != nil || have >= formatVersioned {
		return err
	}
	return writeFormat(dir, formatVersioned)
}

// writeDurably makes the file appear whole or not at all, power loss included.
func writeDurably(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("name %s: %w", name, err)
	}
	return datadir.SyncDir(dir)
}
