package ownership

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxTx bounds the bytes of state changes that wait for one write.
const maxTx = 4 << 20

// fsm is a range's state machine as raft drives it. It applies many entries and writes
// their changes at once.
type fsm struct {
	group      uint32
	state      *state.Machine
	flush      *flusher
	tools      tools
	clock      *clock
	configured configured
	observer   Observer    // nil for none
	leading    atomic.Bool // the observer is told
	transfer   *transferrer
	compare    func(buckets []channel.Bucket, index uint64) // of the raft loop: hashes them as they are now; nil: nothing does
	gate       sync.Locker                                  // keeps readers out while another state is put in place
	failed     error                                        // set for good when a write failed; of raft's apply loop
	stopped    atomic.Bool                                  // failed is set
	spoiled    atomic.Bool                                  // the state is damaged and about to go: nothing is applied any more
	damaged    func(error)                                  // told that the state is unreadable, of which the process need not end; nil: it must
	behind     atomic.Uint64                                // bytes of entries that no snapshot covers
	divided    chan struct{}                                // 1: full when the state has other buckets than before
	restored   chan struct{}                                // 1: full when the state has begun to take a backup's records, or is what it holds; see group.tell
}

// applied is the response of the state machine for one entry.
type applied struct {
	results []state.Result // one per command
	err     error          // the state machine stopped
}

var _ raft.BatchingFSM = (*fsm)(nil)

// Apply implements raft.FSM.
func (f *fsm) Apply(log *raft.Log) any { return f.ApplyBatch([]*raft.Log{log})[0] }

// ApplyBatch implements raft.BatchingFSM: its responses are of type applied.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	began := time.Now()
	defer func() { f.tools.metrics.applySeconds.Observe(time.Since(began).Seconds()) }()
	responses := make([]any, len(logs))
	tx := f.begin()
	written := 0 // responses whose changes are written
	for i, log := range logs {
		responses[i] = f.applyEntry(tx, log)
		if tx.Size() < maxTx && i < len(logs)-1 && len(tx.Compared()) == 0 {
			continue
		}
		f.write(tx)
		if f.failed != nil {
			for j := written; j < len(logs); j++ {
				responses[j] = applied{err: f.failed}
			}
			return responses
		}
		written = i + 1
		if written < len(logs) {
			tx = f.begin()
		}
	}
	return responses
}

// begin begins a transaction. A node that begins to lead does so before it takes the first
// command to tell of.
func (f *fsm) begin() *state.Tx { return f.state.Begin(f.observer != nil && f.leading.Load()) }

// applyEntry applies one entry's commands onto tx. Entries that the state has
// already, replayed after a restart, change nothing.
func (f *fsm) applyEntry(tx *state.Tx, log *raft.Log) applied {
	if log.Type == raft.LogConfiguration {
		f.configured.apply(log.Index, raft.DecodeConfiguration(log.Data))
	}
	if f.ended() {
		return applied{err: f.failed}
	}
	f.behind.Add(uint64(len(log.Data)))
	if !tx.Reach(log.Index) {
		f.tools.metrics.replaySkipped.Inc()
		return applied{}
	}
	if log.Type != raft.LogCommand {
		return applied{}
	}
	tx.InTerm(log.Term)
	results, err := tx.Apply(log.Data)
	if err != nil {
		f.stop(fmt.Errorf("range %d, entry %d: %w", f.group, log.Index, err))
		return applied{err: f.failed}
	}
	f.tools.metrics.commands.Add(float64(len(results)))
	return applied{results: results}
}

// ended reports whether nothing is applied any more.
func (f *fsm) ended() bool {
	if f.failed == nil && f.spoiled.Load() {
		f.failed = disk.Corrupt("state of range %d is gone", f.group)
	}
	return f.failed != nil
}

// write makes tx the state, and tells streams and the observer. What was taken out of the store
// while entries were applied was missing to them: none of their results may be acknowledged.
func (f *fsm) write(tx *state.Tx) {
	if f.ended() {
		tx.Drop()
		return
	}
	before := f.state.Range()
	if err := f.state.Write(tx); err != nil {
		f.stop(fmt.Errorf("range %d: write state: %w", f.group, err))
		return
	}
	f.clock.settle(f.state.Time())
	if f.leading.Load() {
		tx.Tell(f.observer)
	}
	if f.compare != nil && len(tx.Compared()) > 0 {
		f.compare(tx.Compared(), f.state.Index())
	}
	if tx.Restored() {
		signal(f.restored)
	}
	if f.state.Range() != before {
		signal(f.divided)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// gone returns an ErrUnavailable if the state's records were taken out of the store, also if
// that was while the caller read them, or do not follow the log any more.
func (f *fsm) gone() error {
	if f.spoiled.Load() || f.stopped.Load() {
		return fmt.Errorf("range %d: %w: the state of its replica here is damaged", f.group, ErrUnavailable)
	}
	return nil
}

// stop ends the replica, whose state can no longer follow the log: what is damaged is filled
// again, and the process ends otherwise.
func (f *fsm) stop(err error) {
	f.failed = err
	f.stopped.Store(true)
	if f.damaged != nil && (isDamage(err) || f.spoiled.Load()) {
		f.damaged(err)
		return
	}
	f.tools.fail(err)
}

// Snapshot implements raft.FSM. It copies nothing: see stateMark.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.failed != nil {
		return nil, f.failed
	}
	return &stateMark{marker: &wire.Marker{Group: f.group, Applied: f.state.Index()}, flush: f.flush}, nil
}

// Restore implements raft.FSM: what a sink has received becomes the state. An
// error leaves the state as it was, but for one of reading it back, which stops
// the replica.
func (f *fsm) Restore(source io.ReadCloser) error {
	content, err := io.ReadAll(io.LimitReader(source, 1<<10))
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	marker, err := readMarker(f.group, content)
	if err != nil {
		return err
	}
	f.configured.restored()
	// The log will be cut behind what the state has, so that must be on disk; and
	// what is on disk need not be written while readers wait.
	if err := f.flush.flush(); err != nil {
		return err
	}
	if f.state.Index() < marker.Applied { // else the log has led there meanwhile
		if err := f.replace(marker); err != nil {
			return err
		}
	}
	return f.transfer.discard(marker)
}

// replace puts a received state in the place of the present one. It keeps readers
// out meanwhile.
func (f *fsm) replace(marker *wire.Marker) error {
	f.gate.Lock()
	defer f.gate.Unlock()
	if err := f.transfer.install(marker); err != nil || planted.Bug(9) {
		return err
	}
	if err := f.state.Reload(); err != nil {
		f.stop(err)
		return err
	}
	f.clock.settle(f.state.Time())
	signal(f.divided)
	return nil
}

// finishRestore does at a start what Restore was stopped from doing, and removes
// what transfers left.
func (f *fsm) finishRestore(marker *wire.Marker) error {
	if f.state.Index() < marker.Applied && marker.Received != "" {
		if err := f.transfer.install(marker); err != nil {
			return err
		}
		if err := f.state.Reload(); err != nil {
			return err
		}
	}
	return f.transfer.clean()
}
