//go:build unix

// Package descriptors says how many file descriptors the process may have.
package descriptors

import (
	"fmt"
	"syscall"
)

// Limit returns how many descriptors this process may have open (ulimit -n).
func Limit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("descriptor limit: %w", err)
	}
	return limit.Cur, nil
}
