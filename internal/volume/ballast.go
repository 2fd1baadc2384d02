package volume

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

// ballastFile lies in the data directory.
const ballastFile = "BALLAST"

// ballast is a file whose blocks are allocated and mean nothing: space that no other
// program takes, and that is there at once when it is deleted.
type ballast struct {
	path string
	size uint64

	mu struct {
		sync.Mutex
		held       uint64    // bytes allocated
		keepAfter  time.Time // the last attempt to keep it failed; none before
		complained string    // the last error that was said
	}
}

// keepAgain is how long after an attempt to keep the ballast that failed the next
// one comes: each takes, for a moment, all that a quota leaves to the others.
const keepAgain = 10 * time.Minute

// open finds out whether the ballast is there. It writes nothing.
func (b *ballast) open(path string, size uint64) {
	b.path, b.size = path, size
	b.mu.Lock()
	defer b.mu.Unlock()
	if info, err := os.Stat(path); err == nil {
		b.mu.held = allocated(info)
	}
}

// held returns the bytes that release would free.
func (b *ballast) held() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.held
}

// release deletes the ballast and returns how many bytes that gave; 0 when it was
// not there.
func (b *ballast) release() (bytes uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.held == 0 {
		return 0, nil
	}
	if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	bytes, b.mu.held = b.mu.held, 0
	return bytes, nil
}

// keep allocates the ballast and returns how many bytes it put there; 0 when it was
// there already, or that failed not long ago. One of another size, or with holes, is
// made again.
func (b *ballast) keep(now time.Time) (bytes uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.held >= b.size && b.mu.held < 2*b.size || now.Before(b.mu.keepAfter) {
		return 0, nil
	}
	if err := allocate(b.path, b.size); err != nil {
		b.mu.held, b.mu.keepAfter = 0, now.Add(keepAgain)
		return 0, errors.Join(err, removeIfThere(b.path))
	}
	b.mu.held, b.mu.complained = b.size, ""
	return b.size, nil
}

// complain reports that something went wrong that has not been said: it would be
// said with each attempt.
func (b *ballast) complain(err error) bool {
	if err == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.mu.complained == err.Error()
	b.mu.complained = err.Error()
	return !said
}

// allocate makes a file of so many bytes that lie on the disk.
func allocate(path string, size uint64) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := reserveBlocks(file, int64(size)); err != nil {
		return errors.Join(&fs.PathError{Op: "allocate", Path: path, Err: err}, file.Close())
	}
	return file.Close()
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
