package ownership

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/founding"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"google.golang.org/protobuf/proto"
)

// What the store keeps beside raft's values.
var (
	raftIDKey  = []byte("corona_raft_id")
	promiseKey = []byte("corona_promise") // the node that may found the cluster
	tableKey   = []byte("corona_table")   // the newest known, sealed
	bornKey    = []byte("corona_ranges_born")
	heldKey    = []byte("corona_held")     // replicas of ranges on this disk, sealed
	recoverKey = []byte("corona_recovery") // of the meta group, which has not noted it yet; sealed
)

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

var _ founding.Record = (*metaStore)(nil)

// own reads a value that is none of raft's, empty if there is none.
func (s *metaStore) own(key []byte) ([]byte, error) {
	value, err := s.Get(key)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return value, nil
}

// Promise implements founding.Record.
func (s *metaStore) Promise() (string, error) {
	node, err := s.own(promiseKey)
	return string(node), err
}

// SetPromise implements founding.Record.
func (s *metaStore) SetPromise(node string) error { return s.Set(promiseKey, []byte(node)) }

// Table implements founding.Record.
func (s *metaStore) Table() (*wire.Meta, error) {
	sealed, err := s.own(tableKey)
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	table := &wire.Meta{}
	return table, openMetaSeal(sealed, table)
}

// SetTable implements founding.Record.
func (s *metaStore) SetTable(table *wire.Meta) error {
	content, err := proto.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode table: %w", err)
	}
	return s.Set(tableKey, sealMeta(content))
}

func (s *metaStore) born() (bool, error) {
	value, err := s.own(bornKey)
	return len(value) > 0, err
}

func (s *metaStore) setBorn() error { return s.Set(bornKey, []byte{1}) }

// held returns the raft server IDs of the replicas on this disk by range, nil: never noted,
// and of those the damaged ones.
func (s *metaStore) held() (held map[uint32]string, damaged []string, err error) {
	sealed, err := s.own(heldKey)
	if err != nil || len(sealed) == 0 {
		return nil, nil, err
	}
	record := &wire.Held{}
	if err := openMetaSeal(sealed, record); err != nil {
		return nil, nil, err
	}
	held = make(map[uint32]string)
	for _, r := range record.Replicas {
		held[r.Range] = r.Replica
	}
	return held, record.Damaged, nil
}

// setHeld notes durably which replicas are on this disk, and which of them are damaged.
func (s *metaStore) setHeld(held map[uint32]string, damaged []string) error {
	record := &wire.Held{Damaged: damaged}
	for _, id := range slices.Sorted(maps.Keys(held)) {
		record.Replicas = append(record.Replicas, &wire.MoveReplica{Range: id, Replica: held[id]})
	}
	content, err := proto.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode replicas held: %w", err)
	}
	return s.Set(heldKey, sealMeta(content))
}

// recovery returns the recovery of the meta group that is under way, nil for none.
func (s *metaStore) recovery() (*wire.RecoverMeta, error) {
	sealed, err := s.own(recoverKey)
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	c := &wire.RecoverMeta{}
	return c, openMetaSeal(sealed, c)
}

// setRecovery notes durably which recovery is under way; nil: none any more.
func (s *metaStore) setRecovery(c *wire.RecoverMeta) error {
	if c == nil {
		return s.Set(recoverKey, nil)
	}
	content, err := proto.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode recovery: %w", err)
	}
	return s.Set(recoverKey, sealMeta(content))
}

// ownRaftID returns the node's raft ID: its name and an incarnation that is made
// with the directory, so that a wiped node never passes for the one it was.
func ownRaftID(store *metaStore, node string) (raft.ServerID, error) {
	id, err := store.own(raftIDKey)
	if err != nil {
		return "", err
	}
	if len(id) == 0 {
		var incarnation [8]byte
		if !planted.Bug(12) {
			_, _ = rand.Read(incarnation[:]) // never fails
		}
		id = []byte(node + "." + hex.EncodeToString(incarnation[:]))
		if err := store.Set(raftIDKey, id); err != nil {
			return "", err
		}
	}
	if have := raftnet.NodeName(string(id)); have != node {
		return "", fmt.Errorf("%w: it is of node %q, not %q", ErrForeign, have, node)
	}
	return raft.ServerID(id), nil
}

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

func crc(content []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}
