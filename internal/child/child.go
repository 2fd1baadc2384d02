// Package child builds the program under test and runs it as processes that a
// scenario starts, kills and stops.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Build builds command corona into a folder, with build tags, and returns the program's
// path.
func Build(ctx context.Context, folder string, tags ...string) (string, error) {
	binary := filepath.Join(folder, "corona")
	return binary, build(ctx, binary, "-tags", strings.Join(tags, ","))
}

// BuildAs is as Build without tags; the program says that it is of a version, which its
// file name is made of.
func BuildAs(ctx context.Context, folder, version string) (string, error) {
	binary := filepath.Join(folder, "corona-"+version)
	return binary, build(ctx, binary, "-ldflags", "-X main.version="+version)
}

func build(ctx context.Context, binary string, flags ...string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", binary, "./cmd/corona")...)
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build corona: %w\n%s", err, out)
	}
	return nil
}

// OwnAddress returns a loopback address with a port for a process that is started
// more than once. Where the system has the whole of 127.0.0.0/8, as Linux has, the
// address is a random one of it: connections go out from 127.0.0.1 and cannot take
// the port while no process listens.
func OwnAddress(ctx context.Context) (string, error) {
	host := netip.AddrFrom4([4]byte{127, byte(128 + rand.IntN(64)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", netip.AddrPortFrom(host, 0).String())
	if err != nil {
		return FreeAddress(ctx)
	}
	return listener.Addr().String(), listener.Close()
}

// FreeAddress returns a port of 127.0.0.1 on which no process listens now.
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
	ended   chan struct{} // closed when the process has ended and Wait has returned
	printed int64         // where in the log the process begins

	// Bound has Linux kill processes when the one that started them has ended, however that
	// happened. They are then started in the network namespace of the process, not in that
	// of the caller's thread.
	Bound bool

	// Env are variables, as NAME=VALUE, beside those of the process that starts it.
	Env []string
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

// Command is what the next process runs, instead of what New was given.
func (p *Process) Command(binary string, args ...string) { p.args = append([]string{binary}, args...) }

// LogName is the file that holds what the processes print.
func (p *Process) LogName() string { return p.logName }

// Start begins a process and does not wait until it serves.
func (p *Process) Start() error {
	p.process = exec.Command(p.args[0], p.args[1:]...)
	p.process.Stdout, p.process.Stderr = p.log, p.log
	if len(p.Env) > 0 {
		p.process.Env = append(os.Environ(), p.Env...)
	}
	fmt.Fprintf(p.log, "--- start %s\n", strings.Join(p.args, " "))
	if info, err := p.log.Stat(); err == nil {
		p.printed = info.Size()
	}
	run := p.run
	if p.Bound {
		dieWithParent(p.process)
		run = p.runBound
	}
	if err := run(p.process); err != nil {
		return fmt.Errorf("start %s: %w", p.args[0], err)
	}
	return nil
}

// run starts a process on this thread.
func (p *Process) run(process *exec.Cmd) error {
	if err := process.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // ends with the process, whose end is waited for below
		_ = process.Wait() // the process's state tells
		close(ended)
	}()
	p.ended = ended
	return nil
}

// runBound starts a process on a thread that is kept until it has ended: Linux ends it with
// the thread that started it.
func (p *Process) runBound(process *exec.Cmd) error {
	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // ends with the process, whose end is waited for below
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := process.Start()
		started <- err
		if err == nil {
			_ = process.Wait() // the process's state tells
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.ended = ended
	return nil
}

// PID is the process's ID.
func (p *Process) PID() int { return p.process.Process.Pid }

// ErrEnded is a process that ended without being told to.
var ErrEnded = errors.New("the process ended by itself")

// Alive returns [ErrEnded], with what was printed last, when the process is gone.
func (p *Process) Alive() error {
	if _, ended := p.Ended(); ended {
		return p.endedItself()
	}
	return nil
}

func (p *Process) endedItself() error {
	return fmt.Errorf("%w: %v; the end of its log:\n%s", ErrEnded, p.process.ProcessState, p.LogTail())
}

// Ended returns the exit code of a process that has ended, -1 after a signal; ended
// is false if it lives.
func (p *Process) Ended() (code int, ended bool) {
	select {
	case <-p.ended:
		return p.process.ProcessState.ExitCode(), true
	default:
		return 0, false
	}
}

// AwaitEnd waits until the process ends by itself and returns what Ended does.
func (p *Process) AwaitEnd(ctx context.Context, within time.Duration) (code int, ended bool) {
	select {
	case <-p.ended:
	case <-time.After(within):
	case <-ctx.Done():
	}
	return p.Ended()
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
	if err := p.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.args[0], err)
	}
	<-p.ended
	if p.process.ProcessState.Exited() { // before the signal reached it
		return p.endedItself()
	}
	fmt.Fprintln(p.log, "--- killed")
	return nil
}

// stopWithin is how soon a process must end after SIGTERM.
const stopWithin = 20 * time.Second

// Stop ends the process with SIGTERM, after which it must exit with 0 within 20
// seconds. One that ended before is [ErrEnded].
func (p *Process) Stop() error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.args[0], err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("not stopped %s after SIGTERM; the end of its log:\n%s", stopWithin, p.LogTail()), p.Kill())
	}
	if !p.process.ProcessState.Success() {
		return fmt.Errorf("after SIGTERM: %v; the end of its log:\n%s", p.process.ProcessState, p.LogTail())
	}
	return nil
}

// Close kills what is left.
func (p *Process) Close() error {
	if p.ended != nil && p.Alive() == nil {
		_ = p.Kill() // it may end in this very moment
	}
	return p.log.Close()
}

// tailMost bounds LogTail, in bytes.
const tailMost = 16 << 10

// LogTail returns the last lines that the processes printed.
func (p *Process) LogTail() string {
	tail, err := Tail(p.logName, tailMost)
	if err != nil {
		return err.Error()
	}
	return tail
}

// Tail returns the last whole lines of a file, so many bytes at most.
func Tail(name string, most int64) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-most)
	tail, err := io.ReadAll(io.NewSectionReader(file, from, most))
	if from > 0 {
		_, whole, _ := bytes.Cut(tail, []byte("\n"))
		tail = whole
	}
	return string(tail), err
}
