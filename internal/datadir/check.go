package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrForeign is returned by [Check] for what is no data directory of Corona's and
// cannot become one.
var ErrForeign = errors.New("not a data directory of corona")

// harmless are the names that a directory may hold before it is a node's: what file
// systems and desktops put into each, and what an [Open] that was cut short leaves.
var harmless = []string{
	"lost+found", ".DS_Store", "System Volume Information", "$RECYCLE.BIN",
	lockFile, identityFile + ".new",
}

// Check returns an error if [Open] had better not take the directory: one that wraps
// [ErrForeign] for a file, and for a directory that is neither empty nor a node's;
// a [*FormatError] for one that a newer program wrote. It writes nothing.
func Check(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at data directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s: %w: it is a file", path, ErrForeign)
	}
	identity, err := readIdentity(path)
	if errors.Is(err, fs.ErrNotExist) {
		return checkEmpty(path)
	}
	if err != nil {
		return err
	}
	return CheckFormat(filepath.Join(path, identityFile), identity.Format, Format)
}

func checkEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	for _, entry := range entries {
		if !slices.Contains(harmless, entry.Name()) {
			return fmt.Errorf("%s: %w: it holds %q and no %s; name a new directory, or an empty one", path, ErrForeign, entry.Name(), identityFile)
		}
	}
	return nil
}
