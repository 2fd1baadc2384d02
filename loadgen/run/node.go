package run

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// node is a child process, and what it has used so far.
type node struct {
	name, url, data string

	mu      sync.Mutex // of the process, which one goroutine at a time may do something to
	process *child.Process
	away    bool // killed, stopped or suspended on purpose

	used struct {
		sync.Mutex
		before, now use   // of processes that have ended, and of the one that runs
		most        int64 // resident bytes, ever
	}
}

// use is what a process has used so far.
type use struct {
	processor time.Duration
	written   int64 // bytes, to the disk
	resident  int64 // bytes, now
}

func (n *node) alive() error {
	if !n.mu.TryLock() {
		return nil // something is being done to it
	}
	defer n.mu.Unlock()
	if n.away {
		return nil
	}
	return n.process.Alive()
}

// isAway reports whether a node was killed, stopped or suspended on purpose.
func (n *node) isAway() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.away
}

// do does what an event says.
func (n *node) do(ctx context.Context, what string) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch what {
	case scenario.Kill:
		n.away = true
		return n.process.Kill()
	case scenario.Stop:
		n.away = true
		return n.process.Stop()
	case scenario.Pause:
		n.away = true
		return n.process.Pause()
	case scenario.Resume:
		err = n.process.Resume()
	case scenario.Start, scenario.Replace:
		if what == scenario.Replace {
			n.away = true
			if err := errors.Join(n.process.Kill(), n.empty()); err != nil {
				return err
			}
		}
		if n.process.Alive() == nil {
			return errors.New("it runs")
		}
		n.keep()
		if err = n.begin(); err == nil {
			err = child.AwaitURL(ctx, n.url+"/readyz", n.process)
		}
	}
	n.away = n.process.Alive() != nil
	return err
}

// begin starts a process, which sample may not look at meanwhile.
func (n *node) begin() error {
	n.used.Lock()
	defer n.used.Unlock()
	return n.process.Start()
}

// empty removes all data of a node that does not run.
func (n *node) empty() error { return errors.Join(os.RemoveAll(n.data), os.Mkdir(n.data, 0o700)) }

// keep adds what the process that has ended used.
func (n *node) keep() {
	n.used.Lock()
	defer n.used.Unlock()
	n.used.before.processor += n.used.now.processor
	n.used.before.written += n.used.now.written
	n.used.now = use{}
}

// sample reads what the process uses, and returns all that the node has used. What cannot be
// read, as where there is no proc(5), stays as it was.
func (n *node) sample() use {
	n.used.Lock()
	defer n.used.Unlock()
	now := &n.used.now
	now.resident = 0
	if n.process.Alive() == nil {
		pid := n.process.PID()
		if processor, err := process.CPUTime(pid); err == nil {
			now.processor = max(now.processor, processor)
		}
		if written, err := process.Written(pid); err == nil {
			now.written = max(now.written, written)
		}
		if resident, err := process.Resident(pid); err == nil {
			now.resident = resident
			n.used.most = max(n.used.most, resident)
		}
	}
	return use{n.used.before.processor + now.processor, n.used.before.written + now.written, now.resident}
}

// stop ends a node in order, if it runs.
func (n *node) stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away || n.process == nil || n.process.Alive() != nil {
		return nil
	}
	return n.process.Stop()
}

// close kills what is left and removes the data.
func (n *node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.process != nil {
		err = n.process.Close()
	}
	return errors.Join(err, os.RemoveAll(n.data))
}
