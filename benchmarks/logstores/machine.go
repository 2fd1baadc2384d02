package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// counts are of all replicas together.
type counts struct {
	truncations atomic.Uint64 // of a replica's log
	restores    atomic.Uint64 // snapshots read: at a start, or from another node
}

// countedLog counts truncations.
type countedLog struct {
	raft.LogStore
	counts *counts
}

func (l countedLog) DeleteRange(from, to uint64) error {
	l.counts.truncations.Add(1)
	return l.LogStore.DeleteRange(from, to)
}

// IsMonotonic passes on what the store says.
func (l countedLog) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// nothing is a state machine without state: what is measured is the log.
type nothing struct{ counts *counts }

func (nothing) Apply(*raft.Log) any                   { return nil }
func (n nothing) Snapshot() (raft.FSMSnapshot, error) { return n, nil }
func (nothing) Persist(raft.SnapshotSink) error       { return nil }
func (nothing) Release()                              {}
func (n nothing) Restore(snapshot io.ReadCloser) error {
	n.counts.restores.Add(1)
	return snapshot.Close()
}

// markers is a snapshot store for it. It keeps the newest snapshot's position
// among the group's votes, so that every store pays one durable write for it.
type markers struct{ stable raft.StableStore }

var markerKey = []byte("snapshot")

func (m markers) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration,
	membersIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &marker{stable: m.stable, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprint(index), Index: index, Term: term, Configuration: members, ConfigurationIndex: membersIndex,
	}}, nil
}

func (m markers) List() ([]*raft.SnapshotMeta, error) {
	content, err := m.stable.Get(markerKey)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) || err == nil && len(content) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	meta := &raft.SnapshotMeta{}
	return []*raft.SnapshotMeta{meta}, json.Unmarshal(content, meta)
}

func (m markers) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	list, err := m.List()
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 || list[0].ID != id {
		return nil, nil, fmt.Errorf("no snapshot %s", id)
	}
	return list[0], io.NopCloser(strings.NewReader("")), nil
}

// marker is a snapshot that is being taken.
type marker struct {
	stable  raft.StableStore
	meta    raft.SnapshotMeta
	dropped bool
}

func (m *marker) ID() string                  { return m.meta.ID }
func (m *marker) Write(p []byte) (int, error) { return len(p), nil }
func (m *marker) Cancel() error               { m.dropped = true; return nil }

func (m *marker) Close() error {
	if m.dropped {
		return nil
	}
	content, err := json.Marshal(m.meta)
	if err != nil {
		return err
	}
	return m.stable.Set(markerKey, content)
}
