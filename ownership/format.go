package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// format is the number of the directory's layout: FORMAT holds it in decimal. It
// grows when a program of before would misread what this one writes.
const format = 1

const formatFile = "FORMAT"

// checkFormat refuses a directory that this program must not write to, before
// anything is written, and marks an empty one.
func checkFormat(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return markFormat(dir)
	}
	if err != nil {
		return fmt.Errorf("read format: %w", err)
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || have < 1 {
		return disk.Corrupt("%s holds %.20q, want a format number", filepath.Join(dir, formatFile), text)
	}
	if have > format {
		return &FormatError{Dir: dir, Have: have, Supported: format}
	}
	return nil
}

func markFormat(dir string) error {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
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
	return writeDurably(dir, formatFile, []byte(strconv.Itoa(format)+"\n"))
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
	return syncDir(dir)
}

func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
