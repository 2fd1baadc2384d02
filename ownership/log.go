package ownership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

// Keys of the shared log. G is the group (4 bytes):
//
//	G 'k' name      → a value of raft's stable store
//	G 'l' index(8)  → a log entry
//	G 's'           → SnapshotMeta of the group's newest snapshot
//	0xFFFFFFFF 'o'  → Identity
//
// Every value begins with the CRC-32C of key and content, so that a value in the
// wrong place is found as well as a damaged one.
const (
	logStable   = 'k'
	logEntry    = 'l'
	logSnapshot = 's'
	logIdentity = 'o'
	systemGroup = 0xFFFFFFFF
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errLogClosed = errors.New("log closed")

// sharedLog holds the logs of all groups of a node in one pebble store. Pebble
// merges the synced commits that wait at the same time into one fsync, over all
// groups; a file per group would pay one each.
type sharedLog struct {
	fail func(error)

	// mu is held for reading by every use and for writing by close: raft still
	// asks for its oldest entry now and then while it shuts down.
	mu     sync.RWMutex
	db     *pebble.DB
	closed bool

	appended atomic.Uint64 // bytes since the last snapshot of all groups
	full     chan struct{} // gets a token when appended reaches threshold
	limit    uint64
}

func openLog(dir string, cfg Config, tools tools) (*sharedLog, error) {
	if err := checkLogTail(cfg.files, dir); err != nil {
		return nil, err
	}
	opts := &pebble.Options{
		FS:                 cfg.files,
		Logger:             tools.pebbleLogger("log"),
		FormatMajorVersion: pebbleFormat,
		MemTableSize:       memTable,
		// Entries are deleted long before they would be worth sorting deeper.
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       64,
		CacheSize:                   8<<20 + 2*memTable, // pebble counts memtables as cache
	}
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	db, err := openLogStore(dir, opts)
	if err != nil {
		return nil, err
	}
	return &sharedLog{db: db, fail: tools.fail, limit: cfg.SnapshotBytes, full: make(chan struct{}, 1)}, nil
}

// openLogStore opens a new store twice: its first write-ahead file would be of
// pebble's oldest format, which cannot tell damage from a torn end.
func openLogStore(dir string, opts *pebble.Options) (*pebble.DB, error) {
	desc, err := pebble.Peek(dir, opts.FS)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readError("look at "+dir, err)
	}
	if err != nil || !desc.Exists {
		db, err := openPebble(dir, opts.Clone())
		if err != nil {
			return nil, err
		}
		if err := db.Close(); err != nil {
			return nil, fmt.Errorf("create log: %w", err)
		}
	}
	return openPebble(dir, opts)
}

// use keeps the store open until done is called.
func (l *sharedLog) use() (done func(), err error) {
	l.mu.RLock()
	if l.closed {
		l.mu.RUnlock()
		return nil, errLogClosed
	}
	return l.mu.RUnlock, nil
}

func (l *sharedLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.db.Close()
}

// commit writes the batch, and returns when it is on disk if synced. A failed
// write leaves the disk in a state that nobody knows: it is fatal.
func (l *sharedLog) commit(batch *pebble.Batch, synced bool) error {
	options := pebble.NoSync
	if synced {
		options = pebble.Sync
	}
	if err := batch.Commit(options); err != nil {
		err = fmt.Errorf("write log: %w", err)
		l.fail(err)
		return err
	}
	return nil
}

// put writes one sealed value durably.
func (l *sharedLog) put(key, content []byte) error {
	done, err := l.use()
	if err != nil {
		return err
	}
	defer done()
	batch := l.db.NewBatch()
	defer batch.Close()
	setSealed(batch, key, len(content), func(to []byte) { copy(to, content) })
	return l.commit(batch, true)
}

// get returns the content of a sealed value, nil if there is none.
func (l *sharedLog) get(key []byte) ([]byte, error) {
	done, err := l.use()
	if err != nil {
		return nil, err
	}
	defer done()
	value, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, readError("read log", err)
	}
	content, err := unseal(key, value)
	content = append([]byte{}, content...)
	return content, errors.Join(err, closer.Close())
}

// grew counts appended bytes and calls for a snapshot of all groups when there
// are enough.
func (l *sharedLog) grew(n int) {
	if l.appended.Add(uint64(n)) < l.limit {
		return
	}
	select {
	case l.full <- struct{}{}:
	default:
	}
}

func setSealed(batch *pebble.Batch, key []byte, size int, fill func(to []byte)) {
	op := batch.SetDeferred(len(key), 4+size)
	copy(op.Key, key)
	fill(op.Value[4:])
	binary.BigEndian.PutUint32(op.Value, checksum(key, op.Value[4:]))
	_ = op.Finish() // fails only for a batch that was written already
}

func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, corrupt("checksum of log key %x does not match", key)
	}
	return value[4:], nil
}

func checksum(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
}

func logKey(group uint32, kind byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 32), group), kind)
}

func entryKey(group uint32, index uint64) []byte {
	return binary.BigEndian.AppendUint64(logKey(group, logEntry), index)
}

// An entry's content: term(8) type(1) appended at(8, ns) extensions(4) and their
// bytes, then data.
const entryHead = 8 + 1 + 8 + 4

func entrySize(log *raft.Log) int { return entryHead + len(log.Extensions) + len(log.Data) }

func fillEntry(to []byte, log *raft.Log) {
	binary.BigEndian.PutUint64(to, log.Term)
	to[8] = byte(log.Type)
	binary.BigEndian.PutUint64(to[9:], uint64(nanos(log.AppendedAt)))
	binary.BigEndian.PutUint32(to[17:], uint32(len(log.Extensions)))
	copy(to[entryHead:], log.Extensions)
	copy(to[entryHead+len(log.Extensions):], log.Data)
}

// readEntry fills log from content, which it copies.
func readEntry(content []byte, index uint64, log *raft.Log) error {
	if len(content) < entryHead {
		return corrupt("log entry %d has %d bytes", index, len(content))
	}
	extensions := int64(binary.BigEndian.Uint32(content[17:]))
	if int64(len(content)) < entryHead+extensions {
		return corrupt("log entry %d: extensions of %d bytes", index, extensions)
	}
	rest := append([]byte{}, content[entryHead:]...)
	*log = raft.Log{
		Index:      index,
		Term:       binary.BigEndian.Uint64(content),
		Type:       raft.LogType(content[8]),
		AppendedAt: fromNanos(int64(binary.BigEndian.Uint64(content[9:]))),
		Data:       rest[extensions:],
	}
	if extensions > 0 {
		log.Extensions = rest[:extensions:extensions]
	}
	return nil
}
