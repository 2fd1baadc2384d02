//go:build unix

package volume

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// fullErrors say that there is no space, or that a quota is used up.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT}

// diskErrors say that the disk failed, where others say what a directory holds.
var diskErrors = []error{syscall.EIO, syscall.EROFS}

// allocated returns the bytes that a file really takes.
func allocated(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Blocks) * 512
}

// statfs returns what an ordinary user may still use, and the size of all.
func statfs(dir string) (free, total uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, err
	}
	size := uint64(stat.Bsize)
	return stat.Bavail * size, stat.Blocks * size, nil
}
