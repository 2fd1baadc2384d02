// Package disk is what a node's pebble stores have in common: the format of
// their files, and how damage is told from other failures.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

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
	return OpenWatched(dir, opts, nil)
}

// OpenWatched is Open with a function that is told of damage that is found later. It must
// return soon, and have compactions that meet damage no longer meet it: pebble retries them.
func OpenWatched(dir string, opts *pebble.Options, found func(DamagedTable)) (*pebble.DB, error) {
	opts.EventListener = listener(opts.Logger, found)
	db, err := pebble.Open(dir, opts)
	if err != nil && !refused(err) {
		return nil, Corrupt("open %s: %w", dir, err)
	}
	return db, ReadError("open "+dir, err)
}

// refused tells what the operating system refuses from what pebble finds wrong with its
// files, such as one that is missing or shorter than it was.
func refused(err error) bool {
	var number syscall.Errno
	return !errors.Is(err, fs.ErrNotExist) && !pebble.IsCorruptionError(err) &&
		errors.As(err, &number)
}

// DamagedTable is a sorted file that has a damaged block.
type DamagedTable struct {
	Path       string
	From, To   []byte // keys of the records that it has, both inclusive
	Compaction bool   // a compaction has met it
}

// againPause is what pebble waits before it meets the same damage again: it retries a
// compaction at once.
const againPause = 20 * time.Millisecond

// listener says once of each file that it is damaged. Pebble by itself would end the
// process at the first read, before its caller could return ErrCorrupt; and it would
// retry a compaction at once, for ever, while writes wait for it.
func listener(logger pebble.Logger, found func(DamagedTable)) *pebble.EventListener {
	var said sync.Map // by path
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			_, before := said.LoadOrStore(info.Path, true)
			if !before {
				logger.Errorf("%s", info)
			}
			if found != nil {
				found(damagedTable(info))
				time.Sleep(againPause)
			}
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if !pebble.IsCorruptionError(info.Err) {
				return
			}
			damage := pebble.ExtractDataCorruptionInfo(info.Err)
			if found == nil || damage == nil {
				logger.Fatalf("compaction: %s", info.Err)
				return
			}
			table := damagedTable(*damage)
			table.Compaction = true
			found(table)
		},
	}
}

func damagedTable(info pebble.DataCorruptionInfo) DamagedTable {
	return DamagedTable{Path: info.Path, From: info.Bounds.Start, To: info.Bounds.End.Key}
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
