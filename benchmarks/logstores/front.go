package main

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// committer commits an entry and returns its index when a majority has it.
type committer interface {
	commit(entry []byte) (index uint64, err error)
}

// direct proposes each entry of a client for itself.
type direct struct{ *raft.Raft }

func (d direct) commit(entry []byte) (uint64, error) {
	future := d.Apply(entry, 0)
	err := future.Error()
	return future.Index(), err
}

// front is the way that a Corona node takes, before every store alike: what the
// clients of a group wait for becomes one entry, of a MiB at most. Two entries are
// under way at once while the next one fills up.
type front struct {
	leader   *raft.Raft
	inflight chan inflight

	mu struct {
		sync.Mutex
		queue []*proposal
	}
	ready chan struct{} // holds a token while there may be proposals
}

const frontBytes = 1 << 20

type proposal struct {
	entry []byte
	index uint64
	err   error
	done  chan struct{}
}

type inflight struct {
	future    raft.ApplyFuture
	proposals []*proposal
}

// newFront starts the front of a group, which lasts as long as the process.
func newFront(leader *raft.Raft) *front {
	f := &front{leader: leader, inflight: make(chan inflight), ready: make(chan struct{}, 1)}
	go f.propose()
	go f.answer()
	return f
}

func (f *front) commit(entry []byte) (uint64, error) {
	p := &proposal{entry: entry, done: make(chan struct{})}
	f.mu.Lock()
	f.mu.queue = append(f.mu.queue, p)
	f.mu.Unlock()
	f.wake()
	<-p.done
	return p.index, p.err
}

func (f *front) wake() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *front) propose() {
	for range f.ready {
		proposals, entry := f.take()
		if len(proposals) > 0 {
			f.inflight <- inflight{f.leader.Apply(entry, 0), proposals}
		}
	}
}

// take returns the oldest proposals and an entry of them all.
func (f *front) take() (proposals []*proposal, entry []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for n < len(f.mu.queue) && (n == 0 || len(entry)+len(f.mu.queue[n].entry) <= frontBytes) {
		entry = append(entry, f.mu.queue[n].entry...)
		n++
	}
	proposals = f.mu.queue[:n:n]
	if f.mu.queue = f.mu.queue[n:]; len(f.mu.queue) > 0 {
		f.wake()
	}
	return proposals, entry
}

func (f *front) answer() {
	for e := range f.inflight {
		err := e.future.Error()
		for _, p := range e.proposals {
			if p.index, p.err = e.future.Index(), err; err != nil {
				p.err = fmt.Errorf("commit: %w", err)
			}
			close(p.done)
		}
	}
}
