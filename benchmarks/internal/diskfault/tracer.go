package diskfault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Tracer is a strace that is attached to a process. Its methods are called by one
// goroutine.
type Tracer struct {
	strace  *exec.Cmd
	ended   chan error
	said    *strings.Builder // on standard error; whole when ended has a value
	logName string
	delays  bool // every traced call is a hit
}

// Attach makes the data files of a running process fail, in all threads that it
// has or will have, those files included that it is about to make (see [Files]).
// The process goes on, slower, while it is traced. strace's log is kept in a file.
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
	t := &Tracer{strace: exec.Command("strace", args...), ended: make(chan error, 1), said: new(strings.Builder), logName: logName, delays: injection.Delay > 0}
	out, err := t.strace.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := t.strace.Start(); err != nil {
		return nil, err
	}
	attached := make(chan struct{})
	go t.listen(out, attached) // ends with strace, whose end every way out waits for
	select {
	case <-attached:
		return t, nil
	case err := <-t.ended:
		return nil, fmt.Errorf("strace: %w: %s", err, strings.TrimSpace(t.said.String()))
	case <-ctx.Done():
		t.end()
		return nil, ctx.Err()
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
		fmt.Fprintln(t.said, lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // after a line too long to scan, so that strace never waits
	t.ended <- t.strace.Wait()
}

// end makes strace let go of the process, by SIGKILL: asked to detach, it waits
// for calls that it delays.
func (t *Tracer) end() {
	_ = t.strace.Process.Kill() // it is gone when its process is
	<-t.ended                   // how it ended says nothing
}

// Detach lets go of the process and returns what was seen. A call that was being
// delayed is done at once; one that was being failed may end in ENOSYS. A process
// that ended in delayed calls becomes visible as such only now, or when their time
// is over.
func (t *Tracer) Detach() (Trace, error) {
	t.end()
	log, err := os.Open(t.logName)
	if err != nil {
		return Trace{}, err
	}
	defer log.Close()
	return parse(log, t.delays)
}
