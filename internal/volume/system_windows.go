package volume

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// fullErrors say that there is no space, or that a quota is used up.
var fullErrors = []error{syscall.ENOSPC, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

// diskErrors say that the disk failed, where others say what a directory holds.
var diskErrors = []error{syscall.EIO, windows.ERROR_IO_DEVICE, windows.ERROR_CRC, windows.ERROR_WRITE_PROTECT}

// reserveBlocks makes an empty file one of so many bytes that lie on the disk: NTFS
// allocates all clusters of a file that is not sparse when its end is set.
func reserveBlocks(file *os.File, size int64) error { return file.Truncate(size) }

// allocated returns the bytes that a file really takes.
func allocated(info fs.FileInfo) uint64 { return uint64(info.Size()) }

// statfs returns what this user may still use, and the size of all.
func statfs(dir string) (free, total uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, &total, nil)
	return free, total, err
}
