//go:build unix

package datadir

import (
	"os"

	"golang.org/x/sys/unix"
)

// errLocked says that another process has the lock.
var errLocked = unix.EWOULDBLOCK

// tryLock takes the lock for as long as the file is open.
func tryLock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
