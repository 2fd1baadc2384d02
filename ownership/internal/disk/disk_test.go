package disk

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// said collects what a logger is told.
type said []string

func (said) Infof(string, ...any) {}
func (s *said) Errorf(format string, args ...any) {
	*s = append(*s, "error: "+fmt.Sprintf(format, args...))
}
func (s *said) Fatalf(format string, args ...any) {
	*s = append(*s, "fatal: "+fmt.Sprintf(format, args...))
}

// TestRow59Listener: bad-input.md, row 59. Damage that reads meet is said once for
// each file; what keeps a compaction from its end for ever is fatal.
func TestRow59Listener(t *testing.T) {
	var all said
	l := listener(&all, nil)
	for _, path := range []string{"one", "one", "two"} {
		l.DataCorruption(pebble.DataCorruptionInfo{Path: path, Details: errors.New("checksum")})
	}
	if len(all) != 2 {
		t.Errorf("said %q of two files", all)
	}
	all = nil
	for _, err := range []error{nil, errors.New("no space"), fmt.Errorf("block 3: %w", pebble.ErrCorruption)} {
		l.CompactionEnd(pebble.CompactionInfo{Err: err})
	}
	want := said{"fatal: compaction: block 3: " + pebble.ErrCorruption.Error()}
	if !slices.Equal(all, want) {
		t.Errorf("said %q, want %q", all, want)
	}
}
