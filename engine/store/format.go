package store

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-91e7e7c1/corona/internal/datadir"
)

const (
	// cacheFormat counts the formats of the cache's keys and values. A directory of a
	// higher one is refused.
	cacheFormat = 1

	// storeFormat is the format of pebble's files.
	storeFormat = pebble.FormatValueSeparation

	// formatFile holds cacheFormat in decimal, and the CRC-32C of that, so that a bit
	// that changed on the disk is not taken for a newer format.
	formatFile = "FORMAT"
)

// errFormat says that formatFile holds no format.
var errFormat = errors.New("no format, or a damaged one")

// CheckFormat returns a [*datadir.FormatError] if a newer program wrote the files
// in a directory of [Config.Dir]. It writes nothing.
func CheckFormat(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list files of the content cache: %w", err)
	}
	return cmp.Or(
		datadir.CheckStore(dir, names, int(max(storeFormat, pebble.FormatNewest))),
		checkCacheFormat(files, dir),
		checkLedgerFormat(files, dir),
	)
}

// checkCacheFormat leaves a file that is missing or damaged to markFormat.
func checkCacheFormat(files vfs.FS, dir string) error {
	format, err := readFormat(files, dir)
	if err != nil {
		return nil
	}
	return datadir.CheckFormat(files.PathJoin(dir, formatFile), format, cacheFormat)
}

// readFormat returns the format of a cache; its error wraps fs.ErrNotExist where
// there is no such file, errFormat where it is damaged.
func readFormat(files vfs.FS, dir string) (format int, err error) {
	path := files.PathJoin(dir, formatFile)
	file, err := files.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read format of the content cache: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return 0, fmt.Errorf("read format of the content cache: %w", err)
	}
	if _, err := fmt.Sscan(string(text), &format); err != nil || formatText(format) != string(text) {
		return 0, fmt.Errorf("%s: %w: %q", path, errFormat, text)
	}
	return format, nil
}

func formatText(format int) string {
	number := fmt.Sprint(format)
	return fmt.Sprintf("%s %08x\n", number, crc32.Checksum([]byte(number), castagnoli))
}

// markFormat writes the format of a cache that has none. Its error wraps errFormat
// if the one that it has is damaged.
func markFormat(files vfs.FS, dir string) error {
	if _, err := readFormat(files, dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	path := files.PathJoin(dir, formatFile)
	file, err := files.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("write format of the content cache: %w", err)
	}
	_, err = file.Write([]byte(formatText(cacheFormat)))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = files.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write format of the content cache: %w", err)
	}
	return nil
}

func checkLedgerFormat(files vfs.FS, dir string) error {
	path := files.PathJoin(dir, LedgerFile)
	file, err := files.Open(path)
	if err != nil {
		return nil // OpenLedger meets it
	}
	defer file.Close()
	format, err := readLedgerFormat(file)
	if err != nil {
		return err
	}
	return datadir.CheckFormat(path, format, ledgerFormat)
}
