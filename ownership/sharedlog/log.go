// Package sharedlog keeps the logs and votes of all Raft groups of a node in one
// pebble store. Pebble merges the synced commits that wait at the same time into
// one fsync, whatever group they are of; a file per group would pay one each.
//
// Every value carries a CRC-32C that is checked when it is read. What was
// acknowledged and cannot be read is an error that wraps disk.ErrCorrupt; an
// unfinished write at the end, which power loss leaves, is not.
package sharedlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// Config is what [Open] needs.
type Config struct {
	// Dir is the log's own directory; it is created. Required.
	Dir string
	// FullBytes is how much the log grows, in bytes appended to all groups, until
	// [Log.Full] asks to truncate it; 0 for never. It asks at half of MemTable at the
	// latest: what is truncated while it is in memory is never written again.
	FullBytes uint64
	// Fail is called with the error of a failed write: what the disk holds is unknown
	// then, and nothing may be acknowledged any more. Default: panic.
	Fail func(error)
	// MemTable is how many bytes are gathered in memory before they are written as a
	// sorted file; most entries are truncated before that. Default 64 MiB.
	MemTable uint64
	// Files is the file system; nil for the operating system's.
	Files vfs.FS
	// GaveUp is closed when waits for a full disk to have space again must end; nil for
	// never.
	GaveUp <-chan struct{}
	// Logger takes pebble's messages; nil for pebble's own logger.
	Logger pebble.Logger
	// Damaged is told when a compaction meets damage, which it would meet again for ever:
	// the log is to be closed soon. Nil: that ends the process, by the logger's Fatalf.
	Damaged func(error)
	// Unmarked says that a program without marks may have written the log last: a mark
	// that is there does not count, and Open makes one.
	Unmarked bool
}

// Log is the store of all groups. Its methods may be called from any goroutine.
type Log struct {
	fail   func(error)
	gaveUp <-chan struct{}

	db       *pebble.DB
	mark     *mark
	writes   writes
	uses     sync.WaitGroup // Close waits for them
	loops    sync.WaitGroup
	stopping chan struct{} // closed by Close
	close    sync.Once
	ended    error // of Close

	mu struct {
		sync.RWMutex
		closed bool // there are no new uses
	}

	appended atomic.Uint64 // bytes since Full's last token
	broken   atomic.Bool   // a commit failed
	full     chan struct{}
	limit    uint64
}

var (
	errClosed = errors.New("log closed")
	errFull   = errors.New("disk is full")
	errStuck  = errors.New("log does not close: the disk gives no answer")
)

// closeWithin bounds Close: an fsync that hangs cannot be called off.
const closeWithin = 5 * time.Second

func (c Config) withDefaults() Config {
	if c.Files == nil {
		c.Files = vfs.Default
	}
	if c.Logger == nil {
		c.Logger = pebble.DefaultLogger
	}
	if c.MemTable == 0 {
		c.MemTable = 64 << 20
	}
	if c.Fail == nil {
		c.Fail = func(err error) { panic(err) }
	}
	return c
}

func (c Config) options(files vfs.FS) *pebble.Options {
	opts := &pebble.Options{
		FS:                 files,
		Logger:             c.Logger,
		FormatMajorVersion: disk.Format,
		MemTableSize:       c.MemTable,
		// Pebble keeps one write-ahead file more than this for reuse.
		MemTableStopWritesThreshold: 3,
		// Entries are deleted long before they would be worth sorting deeper.
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 64,
		CacheSize:             8<<20 + 2*int64(c.MemTable), // pebble counts memtables as cache
	}
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return opts
}

// Open opens the log, or makes an empty one. Its error wraps disk.ErrCorrupt if
// something that had been synced cannot be read; then nothing was written.
func Open(cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	have, err := cfg.check()
	if err != nil {
		return nil, err
	}
	mark, err := openMark(cfg.Files, cfg.Dir, have)
	if err != nil {
		return nil, err
	}
	db, err := cfg.openStore(storeFS{cfg.Files, mark})
	if err != nil {
		return nil, errors.Join(err, mark.close())
	}
	if err := mark.write(); err != nil {
		return nil, errors.Join(err, db.Close(), mark.close())
	}
	l := &Log{
		db: db, mark: mark, fail: cfg.Fail, gaveUp: cfg.GaveUp, stopping: make(chan struct{}),
		limit: min(cfg.FullBytes, cfg.MemTable/2), full: make(chan struct{}, 1),
	}
	l.loops.Go(l.marks)
	return l, nil
}

// openStore makes a new store before it opens it: its first write-ahead file would be
// of pebble's oldest format, which cannot tell damage from a torn end.
func (c Config) openStore(files vfs.FS) (*pebble.DB, error) {
	desc, err := pebble.Peek(c.Dir, c.Files)
	if err != nil {
		return nil, disk.ReadError("look at "+c.Dir, err)
	}
	if !desc.Exists {
		db, err := disk.Open(c.Dir, c.options(c.Files))
		if err != nil {
			return nil, err
		}
		if err := db.Close(); err != nil {
			return nil, fmt.Errorf("create log: %w", err)
		}
	}
	if c.Damaged == nil {
		return disk.Open(c.Dir, c.options(files))
	}
	return disk.OpenWatched(c.Dir, c.options(files), func(found disk.DamagedTable) {
		if found.Compaction {
			c.Damaged(disk.Corrupt("%s: a compaction cannot read it", found.Path))
		}
	})
}

// marks writes the mark when something was synced.
func (l *Log) marks() {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.stopping:
			return
		case <-ticker.C:
		}
		if l.wrote(l.mark.write()) != nil {
			return
		}
	}
}

// Close waits for the uses under way; later ones fail. It may be called more than
// once. It gives up after 5 s when the disk gives no answer.
func (l *Log) Close() error {
	l.close.Do(func() {
		l.mu.Lock()
		l.mu.closed = true
		l.mu.Unlock()
		close(l.stopping)
		ended := make(chan error, 1)
		go func() { ended <- l.end() }()
		select {
		case l.ended = <-ended:
		case <-time.After(closeWithin):
			l.ended = errStuck
		}
	})
	return l.ended
}

// end closes the store, and marks all of it as synced.
func (l *Log) end() error {
	l.loops.Wait()
	l.uses.Wait()
	err := l.db.Close()
	if err == nil && !l.broken.Load() {
		err = l.mark.write()
	}
	return errors.Join(err, l.mark.close())
}

// Full has a token when the log has grown by Config.FullBytes since the last one:
// all groups should truncate, so that no idle one pins old space.
func (l *Log) Full() <-chan struct{} { return l.full }

// Truncated is called when all groups have truncated. It flushes what is left of the
// log in memory, so that pebble can reuse the write-ahead files so far: entries of an
// idle group would pin them.
func (l *Log) Truncated() error {
	if err := l.use(); err != nil {
		return err
	}
	defer l.uses.Done()
	flushed, err := l.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush log: %w", err)
	}
	select {
	case <-flushed:
		return nil
	case <-l.gaveUp:
		return fmt.Errorf("flush log: %w", errFull)
	}
}

// Identity returns what SetIdentity wrote, empty if nothing.
func (l *Log) Identity() ([]byte, error) { return l.get(identityKey()) }

// SetIdentity durably notes whose log this is.
func (l *Log) SetIdentity(identity []byte) error { return l.put(identityKey(), identity) }

// use keeps the store open until uses.Done is called. Raft still asks for its oldest
// entry now and then while it shuts down.
func (l *Log) use() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.mu.closed {
		return errClosed
	}
	l.uses.Add(1)
	return nil
}

// commit writes the batch, and returns when it is on disk if synced.
func (l *Log) commit(batch *pebble.Batch, synced bool) error {
	options := pebble.NoSync
	if synced {
		options = pebble.Sync
	}
	l.writes.begin()
	defer l.writes.end()
	return l.wrote(batch.Commit(options))
}

// Hangs returns how long the log has been writing without any write coming to its end;
// 0 while none is under way.
func (l *Log) Hangs() time.Duration { return l.writes.hang() }

// writes knows whether what is being written makes progress.
type writes struct {
	mu    sync.Mutex
	open  int
	since time.Time // the latest begin of the first, or end of any
}

func (w *writes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open++; w.open == 1 {
		w.since = time.Now()
	}
}

func (w *writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	w.since = time.Now()
}

func (w *writes) hang() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		return 0
	}
	return time.Since(w.since)
}

// wrote tells of a failed write.
func (l *Log) wrote(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("write log: %w", err)
	l.broken.Store(true)
	l.fail(err)
	return err
}

// put writes one sealed value durably.
func (l *Log) put(key, content []byte) error {
	if err := l.use(); err != nil {
		return err
	}
	defer l.uses.Done()
	batch := l.db.NewBatch()
	defer batch.Close()
	setSealed(batch, key, len(content), func(to []byte) { copy(to, content) })
	return l.commit(batch, true)
}

// get returns the content of a sealed value, nil if there is none.
func (l *Log) get(key []byte) ([]byte, error) {
	if err := l.use(); err != nil {
		return nil, err
	}
	defer l.uses.Done()
	value, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, disk.ReadError("read log", err)
	}
	content, err := unseal(key, value)
	content = append([]byte{}, content...)
	return content, errors.Join(err, closer.Close())
}

// grew counts appended bytes, and gives Full its token when there are enough.
func (l *Log) grew(n int) {
	if grown := l.appended.Add(uint64(n)); l.limit == 0 || grown < l.limit {
		return
	}
	l.appended.Store(0)
	select {
	case l.full <- struct{}{}:
	default:
	}
}
