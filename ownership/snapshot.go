package ownership

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// snapshotStore is a group's raft.SnapshotStore. A snapshot on this disk is a
// marker: the state itself lies in the state store, flushed before the marker is
// written. Only the newest is kept.
type snapshotStore struct {
	log *groupLog
}

var _ raft.SnapshotStore = (*snapshotStore)(nil)

func (s *snapshotStore) key() []byte { return logKey(s.log.group, logSnapshot) }

// Create begins a snapshot; it counts when the sink is closed.
func (s *snapshotStore) Create(_ raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &snapshotSink{store: s, meta: &wire.SnapshotMeta{
		Index: index, Term: term,
		Configuration: raft.EncodeConfiguration(configuration), ConfigurationIndex: configurationIndex,
	}}, nil
}

func (s *snapshotStore) read() (*wire.SnapshotMeta, error) {
	content, err := s.log.shared.get(s.key())
	if err != nil || content == nil {
		return nil, s.log.note(err)
	}
	meta := &wire.SnapshotMeta{}
	if err := proto.Unmarshal(content, meta); err != nil {
		return nil, s.log.note(corrupt("snapshot of range %d: %w", s.log.group, err))
	}
	return meta, nil
}

func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	meta, err := s.read()
	if err != nil || meta == nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{snapshotMeta(meta)}, nil
}

// Open returns the newest snapshot, whose ID must be id.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	if meta == nil || snapshotID(meta) != id {
		return nil, nil, fmt.Errorf("snapshot %q: %w", id, ErrNotFound)
	}
	return snapshotMeta(meta), io.NopCloser(bytes.NewReader(meta.Content)), nil
}

func snapshotID(meta *wire.SnapshotMeta) string { return strconv.FormatUint(meta.Index, 10) }

func snapshotMeta(meta *wire.SnapshotMeta) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: snapshotID(meta),
		Index: meta.Index, Term: meta.Term,
		Configuration: raft.DecodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex,
		Size: int64(len(meta.Content)),
	}
}

type snapshotSink struct {
	store   *snapshotStore
	meta    *wire.SnapshotMeta
	dropped bool
}

func (s *snapshotSink) ID() string { return snapshotID(s.meta) }

func (s *snapshotSink) Write(p []byte) (int, error) {
	s.meta.Content = append(s.meta.Content, p...)
	return len(p), nil
}

func (s *snapshotSink) Cancel() error {
	s.dropped = true
	return nil
}

// Close makes the snapshot the newest, durably.
func (s *snapshotSink) Close() error {
	if s.dropped {
		return nil
	}
	content, err := proto.Marshal(s.meta)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	return s.store.log.shared.put(s.store.key(), content)
}

// stateMark is a raft.FSMSnapshot: that the state holds what was applied until now.
type stateMark struct {
	marker *wire.Marker
	flush  *flusher
}

// Persist flushes the state, then writes the marker.
func (m *stateMark) Persist(sink raft.SnapshotSink) error {
	if err := m.flush.flush(); err != nil {
		return err
	}
	content, err := proto.Marshal(m.marker)
	if err != nil {
		return fmt.Errorf("encode marker: %w", err)
	}
	_, err = sink.Write(content)
	return err
}

func (m *stateMark) Release() {}

// flusher merges the flushes that all groups ask for at the same time: one that
// begins after a request serves it.
type flusher struct {
	db    *pebble.DB
	begun atomic.Uint64 // flushes so far

	mu  sync.Mutex // held while flushing
	err error      // of the last flush; guarded by mu
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
	f.err = nil
	if err := f.db.Flush(); err != nil {
		f.err = fmt.Errorf("flush state: %w", err)
	}
	return f.err
}
