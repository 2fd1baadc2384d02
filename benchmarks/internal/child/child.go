// Package child builds the program under test and runs it as processes that a
// scenario starts, kills and stops.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Build builds command corona into a folder and returns the program's path.
func Build(ctx context.Context, folder string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	binary := filepath.Join(folder, "corona")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/corona")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build corona: %w\n%s", err, out)
	}
	return binary, nil
}

// FreeAddress returns a loopback address with a port that nobody uses now.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Process is one command line, run as one process after the other. Its methods
// are called by one goroutine.
type Process struct {
	args    []string
	logName string
	log     *os.File // what all processes print
	process *exec.Cmd
	ended   chan error // of the process: what Wait returned, once
	printed int64      // where in the log the process begins
}

// New returns a process that is not started. What it prints is appended to a
// file.
func New(logName, binary string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Process{args: append([]string{binary}, args...), logName: logName, log: log}, nil
}

// Begin starts a new process. The caller closes it, if there is no error.
func Begin(logName, binary string, args ...string) (*Process, error) {
	process, err := New(logName, binary, args...)
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, errors.Join(err, process.Close())
	}
	return process, nil
}

// LogName is the file that holds what the processes print.
func (p *Process) LogName() string { return p.logName }

// Start begins a process and does not wait until it serves.
func (p *Process) Start() error {
	p.process = exec.Command(p.args[0], p.args[1:]...)
	p.process.Stdout, p.process.Stderr = p.log, p.log
	fmt.Fprintf(p.log, "--- start %s\n", strings.Join(p.args, " "))
	if info, err := p.log.Stat(); err == nil {
		p.printed = info.Size()
	}
	if err := p.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.args[0], err)
	}
	process, ended := p.process, make(chan error, 1)
	go func() { ended <- process.Wait() }() // ends with the process, whose end is waited for below
	p.ended = ended
	return nil
}

// PID is the process's ID.
func (p *Process) PID() int { return p.process.Process.Pid }

// ErrEnded is a process that ended without being told to.
var ErrEnded = errors.New("the process ended by itself")

// Alive returns [ErrEnded], with what was printed last, when the process is gone.
func (p *Process) Alive() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("%w: %v; the end of its log:\n%s", ErrEnded, err, p.LogTail())
	default:
		return nil
	}
}

// AwaitEnd waits until the process ends by itself and returns its exit code, -1
// after a signal; ended is false if it lives on.
func (p *Process) AwaitEnd(ctx context.Context, within time.Duration) (code int, ended bool) {
	select {
	case err := <-p.ended:
		p.ended <- err
		return p.process.ProcessState.ExitCode(), true
	case <-time.After(within):
	case <-ctx.Done():
	}
	return 0, false
}

// Printed returns what the process has printed, or the one that ran last: its
// caller closes it.
func (p *Process) Printed() (io.ReadCloser, error) {
	file, err := os.Open(p.logName)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(p.printed, io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Kill ends the process with SIGKILL. One that ended before is [ErrEnded].
func (p *Process) Kill() error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.process.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.args[0], err)
	}
	<-p.ended
	fmt.Fprintln(p.log, "--- killed")
	return nil
}

// stopWithin is how soon a process must end after SIGTERM.
const stopWithin = 20 * time.Second

// Stop ends the process with SIGTERM, after which it must exit with 0 within 20
// seconds.
func (p *Process) Stop() error {
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.args[0], err)
	}
	select {
	case err := <-p.ended:
		p.ended = nil
		if err != nil {
			return fmt.Errorf("after SIGTERM: %w; the end of its log:\n%s", err, p.LogTail())
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("not stopped %s after SIGTERM", stopWithin), p.Kill())
	}
}

// Close kills what is left.
func (p *Process) Close() error {
	if p.ended != nil && p.Alive() == nil {
		_ = p.Kill() // it may end in this very moment
	}
	return p.log.Close()
}

// LogTail returns the last lines that the processes printed.
func (p *Process) LogTail() string {
	const most = 4096
	file, err := os.Open(p.logName)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	tail, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(tail)
}
