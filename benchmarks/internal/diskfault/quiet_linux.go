package diskfault

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

const (
	quietWithin = 5 * time.Second // of waiting for threads in calls that the disk is slow with
	quietLooks  = 2
)

// quiet stops all threads of the process where no call is in between strace's two
// looks at it, as far as that is possible in time: a strace that is killed there
// lets the call end in ENOSYS. The caller makes the process go on.
func (t *Tracer) quiet() (goOn func()) {
	process, err := os.FindProcess(t.pid)
	if err != nil {
		return func() {}
	}
	_ = process.Signal(syscall.SIGSTOP) // fails when it is gone: then it has no threads
	quiet := 0
	for begun := time.Now(); quiet < quietLooks && time.Since(begun) < quietWithin; time.Sleep(time.Millisecond) {
		if t.isQuiet() {
			quiet++
		} else {
			quiet = 0
		}
	}
	return func() {
		_ = process.Signal(syscall.SIGCONT)
		_ = process.Release()
	}
}

// isQuiet reports whether every thread has stopped and strace waits for them: it
// has nothing to do then, so none of them is in a call that it follows. Where strace
// has ended, there is nothing to wait for.
func (t *Tracer) isQuiet() bool {
	select {
	case <-t.ended:
		return true
	default:
	}
	return child.Stopped(t.pid) && child.StateOf(fmt.Sprintf("/proc/%d/stat", t.strace.Process.Pid)) == 'S'
}
