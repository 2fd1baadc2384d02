package ownership

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// metaFSM holds the cluster's table in memory; raft's log and snapshots have
// it on disk.
type metaFSM struct {
	changed    func(*wire.Meta) // told of each new table, which it may keep; of raft's apply loop
	configured configured
	mu         struct {
		sync.Mutex
		meta   *wire.Meta
		damage error
	}
}

var _ raft.ConfigurationStore = (*metaFSM)(nil)

// StoreConfiguration implements [raft.ConfigurationStore].
func (f *metaFSM) StoreConfiguration(index uint64, c raft.Configuration) {
	f.configured.apply(index, c)
}

// meta returns a copy of what is known, never nil.
func (f *metaFSM) meta() *wire.Meta {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.meta == nil {
		return &wire.Meta{}
	}
	return proto.CloneOf(f.mu.meta)
}

// forget prepares for another raft, which replays all of the log.
func (f *metaFSM) forget() {
	f.configured.restored()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.meta = nil
}

func (f *metaFSM) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.damage
}

// Apply implements raft.FSM: its response is an error or nil.
func (f *metaFSM) Apply(log *raft.Log) any {
	err := f.apply(log)
	if err != nil {
		return err
	}
	f.changed(f.meta())
	return nil
}

func (f *metaFSM) apply(log *raft.Log) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	command := &wire.MetaCommand{}
	err := openMetaSeal(log.Data, command)
	if err == nil {
		err = wire.Strict(command)
	}
	if err != nil {
		f.mu.damage = err
		return err
	}
	if command.Term != 0 && command.Term != log.Term {
		return fmt.Errorf("%w: it was decided in term %d of the meta group, this is term %d", ErrInvalid, command.Term, log.Term)
	}
	if f.mu.meta == nil {
		f.mu.meta = &wire.Meta{}
	}
	switch c := command.Change.(type) {
	case *wire.MetaCommand_Birth:
		if len(f.mu.meta.Cluster) > 0 {
			return nil
		}
		if f.mu.meta = c.Birth.Table; f.mu.meta == nil {
			f.mu.meta = &wire.Meta{Cluster: c.Birth.Cluster, BornUs: c.Birth.TimeUs, Replicas: c.Birth.Replicas, Ranges: c.Birth.Ranges}
		}
	case *wire.MetaCommand_RangesBorn:
		f.mu.meta.RangesBorn = true
	default:
		if err := tables.Change(f.mu.meta, command); errors.Is(err, tables.ErrUnknown) {
			f.mu.damage = fmt.Errorf("meta group: entry %d: %w", log.Index, err)
			return f.mu.damage
		} else if err != nil {
			return err
		}
	}
	f.mu.meta.Revision = log.Index
	return nil
}

// check refuses what Apply would.
func (f *metaFSM) check(log *raft.Log) error {
	command := &wire.MetaCommand{}
	if err := openMetaSeal(log.Data, command); err != nil {
		return err
	}
	return checkChange(command)
}

// checkChange refuses a command of a later version, which no replica of this one would take:
// in a leader's log it would hold up all that comes after it.
func checkChange(command *wire.MetaCommand) error {
	if command.Change == nil {
		return tables.ErrUnknown
	}
	return wire.Strict(command)
}

// Snapshot implements raft.FSM.
func (f *metaFSM) Snapshot() (raft.FSMSnapshot, error) {
	content, err := proto.Marshal(f.meta())
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return metaSnapshot(sealMeta(content)), nil
}

// Restore implements raft.FSM.
func (f *metaFSM) Restore(source io.ReadCloser) error {
	content, err := io.ReadAll(source)
	if err != nil {
		return fmt.Errorf("read meta snapshot: %w", err)
	}
	meta := &wire.Meta{}
	if err := openMetaSeal(content, meta); err != nil {
		return err
	}
	f.configured.restored()
	f.mu.Lock()
	f.mu.meta = meta
	f.mu.Unlock()
	f.changed(f.meta())
	return nil
}

type metaSnapshot []byte

func (s metaSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (metaSnapshot) Release() {}
