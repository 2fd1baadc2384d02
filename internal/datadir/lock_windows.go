package datadir

import (
	"os"

	"golang.org/x/sys/windows"
)

// errLocked says that another process has the lock.
var errLocked = windows.ERROR_LOCK_VIOLATION

// tryLock takes the lock for as long as the file is open. It locks a byte far behind
// the end: what is locked cannot be read by others, and they are to read the holder.
func tryLock(file *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
