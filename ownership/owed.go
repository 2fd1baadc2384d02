package ownership

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// owed waits for the answers of a replica's raft. Raft never answers requests whose entries are
// committed but not yet taken by the state machine when it stops. So it is stopped only after its
// answers, and calls that still wait then end.
type owed struct {
	mu       sync.Mutex
	waiting  int
	closed   bool
	answered chan struct{} // closed when closed is set and no call waits
	stopped  chan struct{} // closed when raft has stopped
}

func newOwed() *owed {
	return &owed{answered: make(chan struct{}), stopped: make(chan struct{})}
}

// wait asks raft and waits for its answer: ErrRaftShutdown after close.
func (o *owed) wait(ask func() raft.Future) error {
	if !o.begin() {
		return raft.ErrRaftShutdown
	}
	defer o.end()
	answer := make(chan error, 1)
	go func() { answer <- ask().Error() }()
	select {
	case err := <-answer:
		return err
	case <-o.stopped:
		return raft.ErrRaftShutdown
	}
}

func (o *owed) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.waiting++
	}
	return !o.closed
}

func (o *owed) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting--
	if o.closed && o.waiting == 0 {
		close(o.answered)
	}
}

// answersWithin is how long a stop waits for answers: none comes while a write of the log hangs.
const answersWithin = time.Second

// close refuses further calls of wait, waits for the answers and stops raft. A second call does
// nothing.
func (o *owed) close(stop func() error) error {
	if !o.refuse() {
		return nil
	}
	select {
	case <-o.answered:
	case <-time.After(answersWithin):
	}
	err := stop()
	close(o.stopped)
	return err
}

// refuse returns false if it was called before.
func (o *owed) refuse() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.closed = true
	if o.waiting == 0 {
		close(o.answered)
	}
	return true
}
