// Package disk is what a node's pebble stores have in common: the format of
// their files, and how damage is told from other failures.
package disk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Format is the format of pebble's files. Raising it forbids the way back to a
// program with an older pebble, so it is a decision, not a default.
const Format = pebble.FormatTableFormatV6

// NewestFormat is the newest format of pebble's files that this program can read.
const NewestFormat = int(max(Format, pebble.FormatNewest))

// ErrCorrupt says that what the disk holds is not what was written to it.
var ErrCorrupt = errors.New("data on disk is damaged")

// Corrupt returns an error that wraps ErrCorrupt.
func Corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

// Open opens a store. Its error wraps ErrCorrupt if the files are damaged. Damage
// that is found later is an error of every read that meets it; a compaction that
// meets it ends the process, by the logger's Fatalf.
func Open(dir string, opts *pebble.Options) (*pebble.DB, error) {
	opts.EventListener = listener(opts.Logger)
	db, err := pebble.Open(dir, opts)
	return db, ReadError("open "+dir, err)
}

// listener says once of each file that it is damaged. Pebble by itself would end the
// process at the first read, before its caller could return ErrCorrupt; and it would
// retry a compaction at once, for ever, while writes wait for it.
func listener(logger pebble.Logger) *pebble.EventListener {
	var said sync.Map // by path
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			if _, before := said.LoadOrStore(info.Path, true); !before {
				logger.Errorf("%s", info)
			}
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if pebble.IsCorruptionError(info.Err) {
				logger.Fatalf("compaction: %s", info.Err)
			}
		},
	}
}

// ReadError marks pebble's own findings of damage; nil stays nil.
func ReadError(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
