package diskfault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Mount makes a folder a disk of its own, in memory, of so many bytes.
func Mount(ctx context.Context, folder string, size int64) error {
	out, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", size), "corona", folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: mount a tmpfs: %w: %s", ErrUnavailable, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Unmount takes it away with all that is on it, busy or not.
func Unmount(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "umount", "-l", folder).CombinedOutput(); err != nil {
		return fmt.Errorf("umount %s: %w: %s", folder, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// CanMount returns nil if a tmpfs may be mounted.
func CanMount(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "corona-mount-")
	if err != nil {
		return err
	}
	defer os.Remove(folder)
	if err := Mount(ctx, folder, 1<<20); err != nil {
		return err
	}
	return Unmount(folder)
}

// Filler takes a disk's free space with a file of its own. Only on a tmpfs: the
// file is really written.
type Filler struct{ Name string }

const fillAtOnce = 1 << 18

// Fill takes all that is free and gives so many bytes back.
func (f Filler) Fill(leave int64) error {
	file, err := os.OpenFile(f.Name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for block := make([]byte, fillAtOnce); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return file.Truncate(max(0, info.Size()-leave))
}

// Free gives all of it back.
func (f Filler) Free() error {
	if err := os.Remove(f.Name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
