package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// bolt is one bbolt file for all groups. A single committer puts the appends,
// votes and truncations that wait, of whatever group, into one transaction.
type bolt struct {
	db     *bbolt.DB
	writes chan *boltWrite
	done   chan struct{} // closed when the committer has ended
	syncs  atomic.Uint64
}

// boltWrite is a part of a transaction; answer has its outcome.
type boltWrite struct {
	apply  func(*bbolt.Tx) error
	answer chan error
}

func openBolt(dir string) (*bolt, error) {
	db, err := bbolt.Open(filepath.Join(dir, "shared.db"), 0o600, boltOptions())
	if err != nil {
		return nil, err
	}
	b := &bolt{db: db, writes: make(chan *boltWrite), done: make(chan struct{})}
	go b.commit()
	return b, nil
}

// commit merges what waits. While one transaction is written the next gathers.
func (b *bolt) commit() {
	defer close(b.done)
	for first := range b.writes {
		batch := b.gather(first)
		b.syncs.Add(syncsPerCommit)
		err := b.db.Update(func(tx *bbolt.Tx) error {
			for _, w := range batch {
				if err := w.apply(tx); err != nil {
					return err
				}
			}
			return nil
		})
		for _, w := range batch {
			w.answer <- err
		}
	}
}

func (b *bolt) gather(first *boltWrite) []*boltWrite {
	batch := []*boltWrite{first}
	for {
		select {
		case w, open := <-b.writes:
			if !open {
				return batch
			}
			batch = append(batch, w)
		default:
			return batch
		}
	}
}

func (b *bolt) update(apply func(*bbolt.Tx) error) error {
	w := &boltWrite{apply: apply, answer: make(chan error, 1)}
	b.writes <- w
	return <-w.answer
}

func (b *bolt) fsyncs() uint64 { return b.syncs.Load() }

func (b *bolt) close() error {
	close(b.writes)
	<-b.done
	return b.db.Close()
}

func (b *bolt) group(id int) (raft.LogStore, raft.StableStore, error) {
	g := &boltGroup{bolt: b, logs: fmt.Appendf(nil, "log %d", id), stable: fmt.Appendf(nil, "stable %d", id)}
	err := b.update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(g.logs)
		_, err2 := tx.CreateBucketIfNotExists(g.stable)
		return errors.Join(err, err2)
	})
	return g, g, err
}

// boltGroup is a group's two buckets.
type boltGroup struct {
	bolt         *bolt
	logs, stable []byte
}

func (g *boltGroup) FirstIndex() (index uint64, err error) {
	return g.end((*bbolt.Cursor).First)
}

func (g *boltGroup) LastIndex() (uint64, error) {
	return g.end((*bbolt.Cursor).Last)
}

func (g *boltGroup) end(move func(*bbolt.Cursor) (key, value []byte)) (index uint64, err error) {
	err = g.bolt.db.View(func(tx *bbolt.Tx) error {
		if key, _ := move(tx.Bucket(g.logs).Cursor()); key != nil {
			index = binary.BigEndian.Uint64(key)
		}
		return nil
	})
	return index, err
}

func (g *boltGroup) GetLog(index uint64, log *raft.Log) error {
	return g.bolt.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(g.logs).Get(indexKey(index))
		if value == nil {
			return raft.ErrLogNotFound
		}
		return decodeLog(value, index, log)
	})
}

func (g *boltGroup) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

func (g *boltGroup) StoreLogs(logs []*raft.Log) error {
	values := make([][]byte, len(logs))
	for i, log := range logs {
		values[i] = encodeLog(log)
	}
	return g.bolt.update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(g.logs)
		for i, log := range logs {
			if err := bucket.Put(indexKey(log.Index), values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteStep is how many entries a transaction truncates, so that the appends of
// others do not wait for all of them.
const deleteStep = 512

func (g *boltGroup) DeleteRange(from, to uint64) error {
	for from <= to {
		end := min(to, from+deleteStep-1)
		err := g.bolt.update(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(g.logs)
			for index := from; index <= end; index++ {
				if err := bucket.Delete(indexKey(index)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = end + 1
	}
	return nil
}

func (g *boltGroup) Set(key, value []byte) error {
	return g.bolt.update(func(tx *bbolt.Tx) error { return tx.Bucket(g.stable).Put(key, value) })
}

func (g *boltGroup) Get(key []byte) (value []byte, err error) {
	err = g.bolt.db.View(func(tx *bbolt.Tx) error {
		value = append([]byte{}, tx.Bucket(g.stable).Get(key)...)
		return nil
	})
	return value, err
}

func (g *boltGroup) SetUint64(key []byte, value uint64) error { return g.Set(key, indexKey(value)) }

func (g *boltGroup) GetUint64(key []byte) (uint64, error) {
	value, err := g.Get(key)
	if err != nil || len(value) == 0 {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

func indexKey(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

var errChecksum = errors.New("checksum of an entry does not match")

// An entry: CRC-32C(4) of what follows, term(8), appended at(8, ns), type(1), data.
const logHead = 4 + 8 + 8 + 1

func encodeLog(log *raft.Log) []byte {
	value := make([]byte, logHead, logHead+len(log.Data))
	binary.BigEndian.PutUint64(value[4:], log.Term)
	binary.BigEndian.PutUint64(value[12:], uint64(log.AppendedAt.UnixNano()))
	value[20] = byte(log.Type)
	value = append(value, log.Data...)
	binary.BigEndian.PutUint32(value, logChecksum(value))
	return value
}

func decodeLog(value []byte, index uint64, log *raft.Log) error {
	if len(value) < logHead || binary.BigEndian.Uint32(value) != logChecksum(value) {
		return fmt.Errorf("entry %d: %w", index, errChecksum)
	}
	*log = raft.Log{
		Index: index, Term: binary.BigEndian.Uint64(value[4:]), Type: raft.LogType(value[20]),
		AppendedAt: time.Unix(0, int64(binary.BigEndian.Uint64(value[12:]))),
		Data:       append([]byte{}, value[logHead:]...),
	}
	return nil
}

func logChecksum(value []byte) uint32 {
	return crc32.Checksum(value[4:], crc32.MakeTable(crc32.Castagnoli))
}
