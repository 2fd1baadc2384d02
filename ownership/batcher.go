package ownership

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// answerWithin bounds how long a call waits for its range. Clients are promised
// an answer within 5 s, and it has a way to them.
const answerWithin = 4 * time.Second

// batcher turns a range's queued proposals into log entries. Two are under way at
// once, one being written and one being applied, while the next fills up: so entries
// grow with the load. With more of them, each is smaller and a command costs more.
type batcher struct {
	queue    *queue
	clock    *clock
	metrics  *metrics
	apply    func(entry []byte) raft.ApplyFuture
	inflight chan inflight
	done     chan struct{} // closed when every proposal has been answered
}

// inflight is an entry that raft has.
type inflight struct {
	proposals []*proposal
	future    raft.ApplyFuture
	began     time.Time
}

func newBatcher(queue *queue, clock *clock, metrics *metrics, apply func([]byte) raft.ApplyFuture) *batcher {
	return &batcher{
		queue: queue, clock: clock, metrics: metrics, apply: apply,
		inflight: make(chan inflight), done: make(chan struct{}),
	}
}

// propose hands entries to raft until the queue is closed and empty.
func (b *batcher) propose() {
	defer close(b.inflight)
	for range b.queue.ready {
		for {
			proposals, end := b.queue.take()
			if end {
				return
			}
			if len(proposals) == 0 {
				break
			}
			entry := encodeEntry(proposals)
			b.metrics.entries.Inc()
			b.metrics.entryBytes.Add(float64(len(entry)))
			b.metrics.entryCommands.Observe(float64(len(proposals)))
			began := time.Now()
			b.inflight <- inflight{proposals, b.apply(entry), began}
		}
	}
}

// answer waits for entries in order and answers their proposals.
func (b *batcher) answer() {
	defer close(b.done)
	for entry := range b.inflight {
		results, err := entryResults(entry.future, len(entry.proposals))
		b.metrics.entrySeconds.Observe(time.Since(entry.began).Seconds())
		b.clock.settle(entry.proposals[len(entry.proposals)-1].time)
		for i, p := range entry.proposals {
			if err != nil {
				p.done <- state.Result{Err: err}
			} else {
				p.done <- results[i]
			}
		}
	}
}

// entryResults waits for an entry. If raft did not take it, since it does not lead, the
// error is errElsewhere; after any other failure the outcome is unknown,
// ErrUnavailable.
func entryResults(future raft.ApplyFuture, want int) ([]state.Result, error) {
	switch err := future.Error(); {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		planted.Bug(6) && errors.Is(err, raft.ErrLeadershipLost):
		return nil, errElsewhere
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	applied, ok := future.Response().(applied)
	switch {
	case ok && applied.err != nil: // other replicas may apply it
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, applied.err)
	case !ok || len(applied.results) != want:
		return nil, fmt.Errorf("%w: entry was not applied", ErrUnavailable)
	}
	return applied.results, nil
}

// encodeEntry is a log entry of commands that are encoded already, with their times added.
func encodeEntry(proposals []*proposal) []byte {
	size := 0
	for _, p := range proposals {
		size += len(p.command) + 24
	}
	entry := make([]byte, 0, size)
	for _, p := range proposals {
		entry = state.AppendCommand(entry, p.command, p.time)
	}
	return entry
}
