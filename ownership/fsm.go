package ownership

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxTx bounds the bytes of state changes that wait for one write.
const maxTx = 4 << 20

// fsm is a range's state machine. It writes the changes of many entries and the
// index of the last of them in one batch that is not synced: after a crash the
// state is that of some earlier index, and the log has the rest.
//
// Applying reads only commands and state. So every replica, and every replay,
// comes to the same state.
type fsm struct {
	group    uint32
	from, to channel.Bucket
	db       *pebble.DB
	flush    *flusher
	tools    tools
	clock    *clock
	observer Observer    // nil for none
	leading  atomic.Bool // the observer is told
	transfer *transferrer
	gate     sync.Locker // keeps readers out while another state is put in place

	// Owned by raft's apply loop.
	applied position
	buckets []*wire.Bucket // from..to, the newest state
	known   []known        // from..to
	knowing sync.RWMutex   // held to change what is known, and to ask for it outside of the loop
	recent  recent         // records as they are in the state
	failed  error          // set for good when a write failed

	hot  hot
	news news
}

// position is how far a state is in its log.
type position struct{ index, timeUS uint64 }

// hot is what others may read while entries are applied.
type hot struct {
	index, timeUS                        atomic.Uint64
	channels, subscriptions, updateBytes atomic.Uint64
	lastStamp, trimmedStamp              []atomic.Uint64 // by bucket − from
	keyDay                               []atomic.Uint32 // the first day that holds keys, 0 for none
	newest                               atomic.Uint64   // stamp of an update
	behind                               atomic.Uint64   // bytes of entries that no snapshot covers
}

var _ raft.BatchingFSM = (*fsm)(nil)

// load reads what the fsm holds in memory, for the first time.
func (f *fsm) load() error {
	n := int(f.to-f.from) + 1
	f.hot.lastStamp, f.hot.trimmedStamp = make([]atomic.Uint64, n), make([]atomic.Uint64, n)
	f.hot.keyDay = make([]atomic.Uint32, n)
	f.buckets = emptyBuckets(n)
	return f.reload()
}

// reload reads it again, after another state was put in place.
func (f *fsm) reload() error {
	at := &wire.Applied{}
	if err := getProto(f.db, appliedKey(f.group), at); err != nil && !isMissing(err) {
		return err
	}
	buckets := emptyBuckets(len(f.buckets))
	err := eachInBuckets(f.db, kindBucket, bucketKey(f.from), func(key, value []byte) (bool, error) {
		b, _ := keyBucket(key)
		if b > f.to {
			return false, nil
		}
		return true, unmarshal(key, value, buckets[b-f.from])
	})
	if err != nil {
		return err
	}
	for i, state := range buckets {
		f.hot.count(i, f.buckets[i], state)
	}
	f.buckets, f.known, f.recent = buckets, make([]known, len(buckets)), newRecent(len(buckets))
	f.applied = position{index: at.Index, timeUS: at.TimeUs}
	f.hot.index.Store(f.applied.index)
	f.hot.timeUS.Store(f.applied.timeUS)
	f.news.reset(f.newestTime())
	return nil
}

func emptyBuckets(n int) []*wire.Bucket {
	buckets := make([]*wire.Bucket, n)
	for i := range buckets {
		buckets[i] = &wire.Bucket{}
	}
	return buckets
}

// count moves the hot figures from a bucket's state before to the one after.
func (h *hot) count(i int, before, after *wire.Bucket) {
	h.channels.Add(after.Channels - before.Channels)
	h.subscriptions.Add(after.Subscriptions - before.Subscriptions)
	h.updateBytes.Add(after.UpdateBytes - before.UpdateBytes)
	h.lastStamp[i].Store(after.LastStamp)
	h.newest.Store(max(h.newest.Load(), after.LastStamp))
	h.trimmedStamp[i].Store(after.TrimmedStamp)
	h.keyDay[i].Store(after.FirstKeyDay)
}

// newestTime returns the newest time that the state has seen.
func (f *fsm) newestTime() uint64 {
	newest := f.hot.timeUS.Load()
	for i := range f.hot.lastStamp {
		newest = max(newest, f.hot.lastStamp[i].Load())
	}
	return newest
}

// Apply implements raft.FSM.
func (f *fsm) Apply(log *raft.Log) any { return f.ApplyBatch([]*raft.Log{log})[0] }

// ApplyBatch implements raft.BatchingFSM: its responses are of type applied.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	began := time.Now()
	defer func() { f.tools.metrics.applySeconds.Observe(time.Since(began).Seconds()) }()
	responses := make([]any, len(logs))
	tx := newTx(f)
	written := 0 // responses whose changes are written
	for i, log := range logs {
		responses[i] = f.applyEntry(tx, log)
		if tx.size() < maxTx && i < len(logs)-1 {
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
			tx = newTx(f)
		}
	}
	return responses
}

// applyEntry applies one entry's commands onto tx. Entries that the state has
// already, replayed after a restart, change nothing.
func (f *fsm) applyEntry(tx *tx, log *raft.Log) applied {
	if f.failed != nil {
		return applied{err: f.failed}
	}
	f.hot.behind.Add(uint64(len(log.Data)))
	if log.Index <= tx.applied.index {
		f.tools.metrics.replaySkipped.Inc()
		return applied{}
	}
	tx.applied.index = log.Index
	if log.Type != raft.LogCommand {
		return applied{}
	}
	commands, err := decodeEntry(log.Data)
	if err != nil {
		f.stop(fmt.Errorf("range %d, entry %d: %w", f.group, log.Index, err))
		return applied{err: f.failed}
	}
	results := make([]result, len(commands))
	for i, command := range commands {
		tx.start(command.timeUS)
		results[i], err = applyCommand(tx, command)
		if errors.Is(err, ErrInvalid) {
			results[i], err = result{err: err}, nil
		}
		if err != nil {
			f.stop(fmt.Errorf("range %d, entry %d: %w", f.group, log.Index, err))
			return applied{err: f.failed}
		}
		tx.finish()
	}
	f.tools.metrics.commands.Add(float64(len(commands)))
	return applied{results: results}
}

// applyCommand dispatches. An ErrInvalid means that the command was refused
// before it changed anything, any other error that state could not be read or
// written. What does not fit the state is in the result.
func applyCommand(tx *tx, command command) (result, error) {
	switch c := command.change.(type) {
	case []claimItem:
		return applyClaim(tx, c)
	case []subscribeItem:
		return applySubscribe(tx, c)
	case *wire.Command_Unsubscribe:
		return applyUnsubscribe(tx, c.Unsubscribe)
	case *wire.Command_Commit:
		return applyCommit(tx, c.Commit)
	case *wire.Command_Advance:
		return applyAdvance(tx, c.Advance)
	case *wire.Command_SetEndpoint:
		return applySetEndpoint(tx, c.SetEndpoint)
	case *wire.Command_EndChannel:
		return applyEndChannel(tx, c.EndChannel)
	case *wire.Command_Trim:
		return applyTrim(tx, c.Trim)
	case *wire.Command_ExpireKeys:
		return applyExpireKeys(tx, c.ExpireKeys)
	case *wire.Command_Forget:
		return applyForget(tx, c.Forget)
	case *wire.Command_Rest:
		return applyRest(tx, c.Rest)
	case *wire.Command_Tick:
		return result{}, nil
	default:
		return result{}, fmt.Errorf("command %T has no application", c)
	}
}

// write makes tx the state, tells the observer, and lets streams pass its times.
func (f *fsm) write(tx *tx) {
	if f.failed != nil {
		tx.drop()
		return
	}
	for b, state := range tx.buckets {
		// Before the updates go, so that no reader misses both them and this.
		f.hot.trimmedStamp[b-f.from].Store(state.TrimmedStamp)
	}
	if err := tx.commit(); err != nil {
		f.stop(fmt.Errorf("range %d: write state: %w", f.group, err))
		return
	}
	f.recent.put(tx.channels)
	f.applied = tx.applied
	f.hot.index.Store(f.applied.index)
	for b, state := range tx.buckets {
		i := int(b - f.from)
		f.hot.count(i, f.buckets[i], state)
		f.buckets[i] = state
		f.forget(b, tx.expired[b], state.Channels)
	}
	f.news.add(tx.news)
	// Last, since it closes the range up to this time: a stream that sees it before the
	// newest stamp would skip the updates of this transaction.
	f.hot.timeUS.Store(f.applied.timeUS)
	f.clock.settle(f.applied.timeUS)
	if f.leading.Load() {
		for _, tell := range tx.events {
			tell(f.observer)
		}
	}
}

// stop ends the replica: its state can no longer follow the log.
func (f *fsm) stop(err error) {
	f.failed = err
	f.tools.fail(err)
}

// Snapshot implements raft.FSM. It copies nothing: see stateMark.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.failed != nil {
		return nil, f.failed
	}
	return &stateMark{marker: &wire.Marker{Group: f.group, Applied: f.applied.index}, flush: f.flush}, nil
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
	// The log will be cut behind what the state has, so that must be on disk; and
	// what is on disk need not be written while readers wait.
	if err := f.flush.flush(); err != nil {
		return err
	}
	if f.applied.index < marker.Applied { // else the log has led there meanwhile
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
	if err := f.reload(); err != nil {
		f.stop(err)
		return err
	}
	f.clock.settle(f.applied.timeUS)
	return nil
}

// finishRestore does at a start what Restore was stopped from doing, and removes
// what transfers left.
func (f *fsm) finishRestore(marker *wire.Marker) error {
	if f.applied.index < marker.Applied && marker.Received != "" {
		if err := f.transfer.install(marker); err != nil {
			return err
		}
		if err := f.reload(); err != nil {
			return err
		}
	}
	return f.transfer.clean()
}
