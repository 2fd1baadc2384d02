//go:build unix

package fetcher

import "syscall"

// nothingToRead reports that a socket is open and has nothing to read. Otherwise it
// may read into buffer.
func nothingToRead(fd uintptr, buffer []byte) bool {
	_, err := syscall.Read(int(fd), buffer)
	return err == syscall.EAGAIN
}
