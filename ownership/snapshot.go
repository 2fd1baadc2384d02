package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// snapshotStore is a group's raft.SnapshotStore. A snapshot on this disk is a
// marker: the state itself lies in the state store, flushed before the marker is
// written. Only the newest is kept.
//
// Open returns a stream of the state as it is then, which may be newer than the
// snapshot's index. Raft sends the entries between after it, and the receiver's
// state machine skips those that its state has.
type snapshotStore struct {
	group    uint32
	log      *sharedlog.Group
	transfer *transferrer
	mu       sync.Mutex // held while the newest is replaced
}

var _ raft.SnapshotStore = (*snapshotStore)(nil)

// Create begins a snapshot; it counts when the sink is closed.
func (s *snapshotStore) Create(_ raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &snapshotSink{store: s, meta: &wire.SnapshotMeta{
		Index: index, Term: term,
		Configuration: raft.EncodeConfiguration(configuration), ConfigurationIndex: configurationIndex,
	}}, nil
}

// read returns the newest snapshot and its marker, empty ones if there is none.
func (s *snapshotStore) read() (*wire.SnapshotMeta, *wire.Marker, error) {
	meta, marker := &wire.SnapshotMeta{}, &wire.Marker{}
	content, err := s.log.Snapshot()
	if err != nil || content == nil {
		return meta, marker, err
	}
	if err := proto.Unmarshal(content, meta); err != nil {
		return nil, nil, disk.Corrupt("snapshot of range %d: %w", s.group, err)
	}
	marker, err = readMarker(s.group, meta.Content)
	return meta, marker, err
}

// configuration returns the one with the newest snapshot.
func (s *snapshotStore) configuration() (configuration, error) {
	meta, _, err := s.read()
	if err != nil || len(meta.Configuration) == 0 {
		return configuration{}, err
	}
	return configuration{raft.DecodeConfiguration(meta.Configuration).Servers, meta.ConfigurationIndex}, nil
}

func readMarker(group uint32, content []byte) (*wire.Marker, error) {
	marker := &wire.Marker{}
	if err := proto.Unmarshal(content, marker); err != nil || marker.Group != group {
		return nil, disk.Corrupt("snapshot of range %d holds %x", group, content)
	}
	return marker, nil
}

// replace makes a snapshot the newest, durably. One older than the newest does
// not count: the log may not reach back to it.
func (s *snapshotStore) replace(meta *wire.SnapshotMeta) (newest bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, _, err := s.read()
	if err != nil || meta.Index < have.Index {
		return false, err
	}
	content, err := proto.Marshal(meta)
	if err != nil {
		return false, fmt.Errorf("encode snapshot: %w", err)
	}
	return true, s.log.SetSnapshot(content)
}

// List returns the newest snapshot, if there is one.
func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	meta, _, err := s.read()
	if err != nil || meta.Index == 0 {
		return nil, err
	}
	return []*raft.SnapshotMeta{snapshotMeta(meta, snapshotID(meta), 0)}, nil
}

// Open returns the newest snapshot, whose ID must be id: the state, or what a sink
// has received, for the state machine to take over. The size of a state is 0, as long as it
// has not been spooled.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, _, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case meta.Index > 0 && id == receivedID(meta):
		return snapshotMeta(meta, id, int64(len(meta.Content))), io.NopCloser(bytes.NewReader(meta.Content)), nil
	case meta.Index > 0 && id == snapshotID(meta):
		return snapshotMeta(meta, id, 0), &spooled{transfer: s.transfer}, nil
	default:
		return nil, nil, fmt.Errorf("snapshot %q: %w", id, channel.ErrNotFound)
	}
}

func snapshotID(meta *wire.SnapshotMeta) string { return strconv.FormatUint(meta.Index, 10) }

// receivedID is what a sink of a stream is called.
func receivedID(meta *wire.SnapshotMeta) string { return "received-" + snapshotID(meta) }

func snapshotMeta(meta *wire.SnapshotMeta, id string, size int64) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: id,
		Index: meta.Index, Term: meta.Term,
		Configuration: raft.DecodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex,
		Size: size,
	}
}

// errNotFlushed says that a flush had not ended when the node, which stops, had waited long
// enough for it: the disk is full, or slow. The log has what it would have written.
var errNotFlushed = errors.New("not done when the node stopped")

// flusher merges the flushes that all groups ask for at the same time: one that
// begins after a request serves it.
type flusher struct {
	db     *pebble.DB
	gaveUp <-chan struct{} // closed when a node that stops waits for flushes no more
	begun  atomic.Uint64   // flushes so far

	mu  sync.Mutex // held while flushing
	err error      // of the last flush; guarded by mu
	at  time.Time  // when the last flush without an error ended; guarded by mu
}

// lightFor is how long after a flush the next one takes little time.
const lightFor = 5 * time.Second

// lighten flushes unless that was done just now, so that a flush which writers will wait for
// takes little time. Each flush makes files that have to be compacted.
func (f *flusher) lighten() error {
	f.mu.Lock()
	light := time.Since(f.at) < lightFor
	f.mu.Unlock()
	if light {
		return nil
	}
	return f.flush()
}

// flush returns when all that was written before the call is on disk.
func (f *flusher) flush() error {
	before := f.begun.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun.Load() > before {
		return f.err // begun after the call, ended while it waited
	}
	f.begun.Add(1)
	if f.err = f.await(); f.err == nil {
		f.at = time.Now()
	}
	return f.err
}

func (f *flusher) await() error {
	flushed, err := f.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush state: %w", err)
	}
	select {
	case <-flushed:
		return nil
	case <-f.gaveUp:
		return fmt.Errorf("flush state: %w", errNotFlushed)
	}
}
