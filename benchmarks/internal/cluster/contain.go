//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// ErrUnavailable says that this machine does not permit namespaces, or that a program
// is missing. It wraps exec.ErrNotFound where that is iproute2's ip.
var ErrUnavailable = errors.New("no network namespaces here")

// The environment of a contained process: the folder for all that it writes, and the
// program under test.
const (
	folderVariable  = "HARNESS_FOLDER"
	programVariable = "HARNESS_PROGRAM"
)

// Contained runs a function in a process that has network, processes and mounts of its
// own, and returns what the function returns. The process is this program again, with
// the same arguments; all that it starts is killed with it by the kernel, its networks
// and mounts vanish with it, also when it or the process that calls Contained is
// killed. The function gets the program under test, which is built from this module
// where program is empty, and a new folder, which is removed if the function returns 0
// and keep is not set.
//
// The error wraps [ErrUnavailable] where this machine does not permit that; the
// function has not run then.
func Contained(name, program string, keep bool, run func(program, folder string) int) (code int, err error) {
	if folder := os.Getenv(folderVariable); folder != "" && os.Getpid() == 1 {
		if err := settle(); err != nil {
			return 0, fmt.Errorf("set up namespaces: %w", err)
		}
		return run(os.Getenv(programVariable), folder), nil
	}
	if err := permitted(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	folder, err := os.MkdirTemp("", "corona-"+name+"-")
	if err != nil {
		return 0, err
	}
	if program == "" {
		if program, err = child.Build(context.Background(), folder); err != nil {
			return 0, errors.Join(err, os.RemoveAll(folder))
		}
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return 0, err
	}
	code, err = again(program, folder)
	if err == nil && (code != 0 || keep) {
		fmt.Fprintln(os.Stderr, "kept", folder)
		return code, nil
	}
	return code, errors.Join(err, os.RemoveAll(folder))
}

// namespaces are those that a contained process has of its own.
const namespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS

// permitted returns nil if this machine lets a process have namespaces of its own, and
// has what makes networks in them.
func permitted() error {
	ip, err := exec.LookPath("ip")
	if err != nil {
		return err
	}
	probe := exec.Command(ip, "link", "add", "probe", "type", "veth")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if out, err := probe.CombinedOutput(); err != nil {
		return fmt.Errorf("make a network: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// again runs this program as the first process of its namespaces. An interrupt, which
// a terminal sends to both, is left to the contained process.
func again(program, folder string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	inner := exec.Command(self, os.Args[1:]...)
	inner.Env = append(os.Environ(), folderVariable+"="+folder, programVariable+"="+program)
	inner.Stdin, inner.Stdout, inner.Stderr = os.Stdin, os.Stdout, os.Stderr
	inner.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: namespaces,
		Pdeathsig:  syscall.SIGKILL, // of the thread that starts it, which is kept until it has ended
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := inner.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() { // ends with the contained process
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = inner.Process.Signal(s) // it may be gone
			case <-ended:
				return
			}
		}
	}()
	err = inner.Wait()
	close(ended)
	<-passed
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil
	}
	return 0, err
}

// settle makes the new namespaces usable: /proc shows the processes of this one, and
// its network passes packets on between nodes.
func settle() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}
