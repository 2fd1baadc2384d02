package diskfault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Tracer is a strace that was attached to a process. Its methods are called by one
// goroutine.
type Tracer struct {
	strace  *exec.Cmd
	pid     int             // of the process
	ended   chan struct{}   // closed when strace has ended
	err     error           // how strace ended; set before ended is closed
	said    strings.Builder // on standard error; whole when ended is closed
	logName string
	delays  bool // every traced call is a hit
}

// Attach makes the data files of a running process fail, in all threads that it
// has or will have, those files included that it is about to make (see [Files]).
// The process goes on, slower, while it is traced. strace's log is kept in a file.
//
// The first call may fail before Attach returns, and end the process: that is no
// error of Attach, and [Tracer.Detach] returns the hit and the end.
func Attach(ctx context.Context, pid int, data, logName string, injection Injection) (*Tracer, error) {
	files, err := Files(data)
	if err != nil {
		return nil, err
	}
	return attach(ctx, pid, files, logName, injection)
}

func attach(ctx context.Context, pid int, files []string, logName string, injection Injection) (*Tracer, error) {
	args := []string{"-f", "-ttt", "-y", "-e", "signal=none", "-o", logName, "-p", strconv.Itoa(pid),
		"-e", "trace=" + strings.Join(injection.Calls, ","), "-e", injection.option()}
	for _, file := range files {
		args = append(args, "-P", file)
	}
	t := &Tracer{strace: exec.Command("strace", args...), pid: pid, ended: make(chan struct{}), logName: logName, delays: injection.Delay > 0}
	out, err := t.strace.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := t.strace.Start(); err != nil {
		return nil, err
	}
	attached := make(chan struct{})
	go t.listen(out, attached) // ends with strace, whose end every way out waits for
	if err := t.await(ctx, attached); err != nil {
		return nil, err
	}
	return t, nil
}

// await waits until strace has attached. A strace that has ended by then attached
// all the same if it said so: it ends with its process.
func (t *Tracer) await(ctx context.Context, attached <-chan struct{}) error {
	select {
	case <-attached:
		return nil
	case <-ctx.Done():
		t.end()
		return ctx.Err()
	case <-t.ended:
	}
	select {
	case <-attached: // listen reads all that strace says before it reports the end
		return nil
	default:
		return fmt.Errorf("strace did not attach (%v): %s", t.err, strings.TrimSpace(t.said.String()))
	}
}

// listen reads what strace says until it ends.
func (t *Tracer) listen(out io.Reader, attached chan<- struct{}) {
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); {
		if first && strings.Contains(lines.Text(), " attached") {
			close(attached)
			first = false
		}
		fmt.Fprintln(&t.said, lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // after a line too long to scan, so that strace never waits
	t.err = t.strace.Wait()
	close(t.ended)
}

// end makes strace let go of the process, by SIGKILL: asked to detach, it waits
// for calls that it delays.
func (t *Tracer) end() {
	_ = t.strace.Process.Kill() // it is gone when its process is
	<-t.ended
}

// writtenWithin is how long strace may take to write the end of a process.
const writtenWithin = 10 * time.Second

// Detach lets go of the process and returns what was seen. A call that was being
// delayed is done at once; one that was being failed has failed, or ends in ENOSYS
// if its thread does not come to a stop within 5 s. A process that ended in delayed
// calls becomes visible as such only now, or when their time is over.
func (t *Tracer) Detach() (Trace, error) {
	goOn := func() {}
	switch {
	case t.processGone():
		// Others see the end of the process when strace collects it, which is before
		// strace writes it down and ends too.
		select {
		case <-t.ended:
		case <-time.After(writtenWithin):
		}
	case !t.delays: // which would have to be over first, and change no result
		goOn = t.quiet()
	}
	t.end()
	goOn()
	log, err := os.Open(t.logName)
	if err != nil {
		return Trace{}, err
	}
	defer log.Close()
	return parse(log, t.delays)
}

// processGone reports whether the process has ended and its parent knows.
func (t *Tracer) processGone() bool {
	process, err := os.FindProcess(t.pid)
	if err != nil {
		return true
	}
	defer func() { _ = process.Release() }()
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
