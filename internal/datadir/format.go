package datadir

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNewer is what every [FormatError] is.
var ErrNewer = errors.New("written by a newer version of corona")

// FormatError says that a newer program wrote a file of a data directory. Nothing
// in the directory was touched.
type FormatError struct {
	File      string // that says so
	Have      int    // its format number
	Supported int    // the newest that this program reads
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s was written by a newer version of corona: it has format %d, this program reads up to %d", e.File, e.Have, e.Supported)
}

// Is makes every FormatError ErrNewer.
func (e *FormatError) Is(target error) bool { return target == ErrNewer }

// CheckFormat returns a [*FormatError] if have is more than supported.
func CheckFormat(file string, have, supported int) error {
	if have <= supported {
		return nil
	}
	return &FormatError{File: file, Have: have, Supported: supported}
}

// storeMarker begins the name of an empty file in which pebble keeps the format of
// a store: behind it come a number that counts the changes, a dot, and the format.
const storeMarker = "marker.format-version."

// CheckStore returns a [*FormatError] if one of the names of files in dir, which
// holds a pebble store, says that its format is newer than supported. A name that
// cannot be read says nothing: opening the store meets it.
func CheckStore(dir string, names []string, supported int) error {
	for _, name := range names {
		numbers, ok := strings.CutPrefix(name, storeMarker)
		if !ok {
			continue
		}
		_, text, _ := strings.Cut(numbers, ".")
		if have, err := strconv.Atoi(text); err == nil && have > supported {
			return &FormatError{File: filepath.Join(dir, name), Have: have, Supported: supported}
		}
	}
	return nil
}
