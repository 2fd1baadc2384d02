package ownership

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"google.golang.org/protobuf/proto"
)

// metaGroup is the Raft group that knows the cluster: its ID, the settings of
// its birth, which node has which range. It changes so rarely that a file of its
// own is right for it.
type metaGroup struct {
	raftID raft.ServerID
	fsm    *metaFSM
	store  *metaStore
	raft   *raft.Raft
}

// metaRange stands for the meta group in messages.
const metaRange = 0xFFFFFFFF

var raftIDKey = []byte("corona_raft_id")

// openMeta opens the meta group, makes the node's raft ID on its first start, and
// waits until it leads.
func openMeta(ctx context.Context, dir string, cfg Config, tools tools) (*metaGroup, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	store, err := openMetaStore(filepath.Join(dir, "raft.db"), cfg.Volume, tools.fail)
	if err != nil {
		return nil, err
	}
	m := &metaGroup{store: store, fsm: &metaFSM{}}
	if m.raftID, err = ownRaftID(store, cfg.Node); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if err := m.start(dir, tools); err != nil {
		return nil, errors.Join(fmt.Errorf("start meta group: %w", err), store.Close())
	}
	if err := m.await(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *metaGroup) start(dir string, tools tools) error {
	conf := raftConfig(m.raftID, tools, metaRange)
	conf.SnapshotThreshold = 1024 // entries: it is small, and every start adds one
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, 1, conf.Logger)
	if err != nil {
		return err
	}
	if err := bootstrap(conf, m.store, m.store, snapshots); err != nil {
		return err
	}
	_, transport := loneTransport(m.raftID)
	if m.raft, err = newRaft(conf, m.fsm, m.store, m.store, snapshots, transport); err != nil {
		return err
	}
	return hurry(m.raft, m.raftID)
}

// await returns when this node leads the meta group and has applied its log.
func (m *metaGroup) await(ctx context.Context) error {
	for {
		select {
		case leads := <-m.raft.LeaderCh():
			if !leads {
				continue
			}
			if err := m.raft.Barrier(answerWithin).Error(); err != nil {
				return fmt.Errorf("meta group: %w: %w", ErrUnavailable, err)
			}
			return m.fsm.damage()
		case <-ctx.Done():
			return fmt.Errorf("wait for the meta group: %w", context.Cause(ctx))
		}
	}
}

func (m *metaGroup) close() error {
	return errors.Join(m.raft.Shutdown().Error(), m.store.Close())
}

// birth founds the cluster if nobody did, and returns what holds.
func (m *metaGroup) birth(cfg Config, log *slog.Logger) (*wire.Meta, error) {
	if meta := m.fsm.meta(); len(meta.Cluster) > 0 {
		return meta, nil
	}
	cluster := make([]byte, 16)
	_, _ = rand.Read(cluster) // never fails
	birth := &wire.Birth{Cluster: cluster, TimeUs: micros(cfg.Now()), Replicas: uint32(cfg.Replicas)}
	ranges := orDefault(cfg.Ranges, defaultRanges)
	for i := range ranges {
		birth.Ranges = append(birth.Ranges, &wire.Range{
			Id: uint32(i), From: uint32(bounds(i, ranges)), To: uint32(bounds(i+1, ranges) - 1),
			Replicas: []string{string(m.raftID)},
		})
	}
	if err := m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_Birth{Birth: birth}}); err != nil {
		return nil, err
	}
	log.Info("cluster founded", "cluster", hex.EncodeToString(cluster), "ranges", ranges)
	return m.fsm.meta(), nil
}

// born notes that all ranges have their logs.
func (m *metaGroup) born() error {
	return m.propose(&wire.MetaCommand{Change: &wire.MetaCommand_RangesBorn{RangesBorn: &wire.RangesBorn{}}})
}

func (m *metaGroup) propose(command *wire.MetaCommand) error {
	content, err := proto.Marshal(command)
	if err != nil {
		return fmt.Errorf("encode meta command: %w", err)
	}
	future := m.raft.Apply(sealMeta(content), answerWithin)
	if err := future.Error(); err != nil {
		return fmt.Errorf("meta group: %w: %w", ErrUnavailable, err)
	}
	err, _ = future.Response().(error)
	return err
}

// metaFSM holds the cluster's settings in memory; raft's log and snapshots have
// them on disk.
type metaFSM struct {
	mu struct {
		sync.Mutex
		meta   *wire.Meta
		damage error
	}
}

var _ raft.FSM = (*metaFSM)(nil)

// meta returns a copy of what is known, never nil.
func (f *metaFSM) meta() *wire.Meta {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.meta == nil {
		return &wire.Meta{}
	}
	return proto.CloneOf(f.mu.meta)
}

func (f *metaFSM) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.damage
}

// Apply implements raft.FSM: its response is an error or nil.
func (f *metaFSM) Apply(log *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	command := &wire.MetaCommand{}
	if err := openMetaSeal(log.Data, command); err != nil {
		f.mu.damage = err
		return err
	}
	if f.mu.meta == nil {
		f.mu.meta = &wire.Meta{}
	}
	switch c := command.Change.(type) {
	case *wire.MetaCommand_Birth:
		if len(f.mu.meta.Cluster) == 0 {
			f.mu.meta = &wire.Meta{Cluster: c.Birth.Cluster, BornUs: c.Birth.TimeUs, Replicas: c.Birth.Replicas, Ranges: c.Birth.Ranges}
		}
	case *wire.MetaCommand_RangesBorn:
		f.mu.meta.RangesBorn = true
	default:
		f.mu.damage = fmt.Errorf("meta group: entry %d is of a kind that this version does not know", log.Index)
		return f.mu.damage
	}
	return nil
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.meta = meta
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

// sealMeta puts a checksum before content: bbolt has none of its own.
func sealMeta(content []byte) []byte {
	return append(crc(content), content...)
}

func openMetaSeal(sealed []byte, into proto.Message) error {
	if len(sealed) < 4 || string(crc(sealed[4:])) != string(sealed[:4]) {
		return disk.Corrupt("checksum of a meta record does not match")
	}
	if err := proto.Unmarshal(sealed[4:], into); err != nil {
		return disk.Corrupt("meta record: %w", err)
	}
	return nil
}

// metaStore is raft's store in bbolt. Raft panics when it cannot keep its term: so a
// write that finds no space is repeated until it does, and one that fails is fatal.
type metaStore struct {
	*raftboltdb.BoltStore
	path   string
	sum    *fileSum
	volume *volume.Volume
	fail   func(error)
}

func openMetaStore(path string, volume *volume.Volume, fail func(error)) (*metaStore, error) {
	sum := &fileSum{of: path}
	if err := sum.check(); err != nil {
		return nil, err
	}
	var store *raftboltdb.BoltStore
	err := sum.during(func() (err error) { // opening begins with a transaction
		store, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
			Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		}})
		return err
	})
	if err != nil && store != nil {
		err = errors.Join(err, store.Close())
	}
	switch {
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, disk.Corrupt("open %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &metaStore{BoltStore: store, path: path, sum: sum, volume: volume, fail: fail}, nil
}

func (s *metaStore) must(write func() error) error {
	err := s.volume.Transact("write", s.path, func() error { return s.sum.during(write) })
	if err != nil {
		err = fmt.Errorf("write meta: %w", err)
		s.fail(err)
	}
	return err
}

func (s *metaStore) StoreLog(log *raft.Log) error {
	return s.must(func() error { return s.BoltStore.StoreLog(log) })
}

func (s *metaStore) StoreLogs(logs []*raft.Log) error {
	return s.must(func() error { return s.BoltStore.StoreLogs(logs) })
}

func (s *metaStore) Set(key, value []byte) error {
	return s.must(func() error { return s.BoltStore.Set(key, value) })
}

func (s *metaStore) SetUint64(key []byte, value uint64) error {
	return s.must(func() error { return s.BoltStore.SetUint64(key, value) })
}

func (s *metaStore) DeleteRange(from, to uint64) error {
	return s.must(func() error { return s.BoltStore.DeleteRange(from, to) })
}

// ownRaftID returns the node's raft ID: its name and an incarnation that is made
// with the directory, so that a wiped node never passes for the one it was.
func ownRaftID(store *metaStore, node string) (raft.ServerID, error) {
	id, err := store.Get(raftIDKey)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return "", fmt.Errorf("read raft ID: %w", err)
	}
	if len(id) == 0 {
		var incarnation [8]byte
		_, _ = rand.Read(incarnation[:]) // never fails
		id = []byte(node + "." + hex.EncodeToString(incarnation[:]))
		if err := store.Set(raftIDKey, id); err != nil {
			return "", err
		}
	}
	if have := nodeName(string(id)); have != node {
		return "", fmt.Errorf("%w: it is of node %q, not %q", ErrForeign, have, node)
	}
	return raft.ServerID(id), nil
}

func crc(content []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}
