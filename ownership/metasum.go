package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// fileSum is a small file beside a bbolt file that has the checksum of all of it.
// bbolt has none for its pages: it trusts them, or panics where no caller can recover.
// The file is read whole for each change, so this is for one that is small and seldom
// changes.
//
// It holds the CRC-32C of the bbolt file, and that of these 4 bytes; or 8 zeros, from
// before a change until after it. After a kill in between, or when the file of the
// checksum was just created and is empty, the next start checks nothing.
type fileSum struct {
	of string

	changing sync.Mutex // raft truncates the log while it appends to it
}

func (s *fileSum) path() string { return s.of + ".sum" }

var sumUnknown = make([]byte, 8)

// check returns ErrCorrupt if the bbolt file is not as it was left.
func (s *fileSum) check() error {
	want, err := os.ReadFile(s.path())
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && (len(want) == 0 || bytes.Equal(want, sumUnknown)):
		return nil
	case err != nil:
		return fmt.Errorf("read checksum: %w", err)
	}
	have, err := s.sum()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return disk.Corrupt("%s is gone", s.of)
	case err != nil:
		return err
	case !bytes.Equal(have, want):
		return disk.Corrupt("checksum of %s does not match", s.of)
	default:
		return nil
	}
}

// during makes a change of the bbolt file, one at a time.
func (s *fileSum) during(change func() error) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.put(sumUnknown); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	sum, err := s.sum()
	if err != nil {
		return err
	}
	return s.put(sum)
}

func (s *fileSum) sum() ([]byte, error) {
	content, err := os.ReadFile(s.of)
	if err != nil {
		return nil, fmt.Errorf("read for its checksum: %w", err)
	}
	sum := crc(content)
	return append(sum, crc(sum)...), nil
}

// put overwrites the 8 bytes, which a disk does at once or not at all.
func (s *fileSum) put(sum []byte) error {
	file, err := os.OpenFile(s.path(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write checksum: %w", err)
	}
	_, err = file.WriteAt(sum, 0)
	if err == nil {
		err = bare(file.Sync())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write checksum: %w", err)
	}
	return nil
}

// bare returns the system's error without the path: volume.Transact repeats a write,
// which has one, and never an fsync.
func bare(err error) error {
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
