package ownership

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// openStores opens log and state, and checks that they are this node's.
func (s *Store) openStores(table *wire.Meta, born bool) (err error) {
	if s.log, err = openLog(s.cfg, s.tools, s.foundInLog()); err != nil {
		return err
	}
	s.logRef.Store(s.log)
	if s.cfg.unmarked { // now it has a mark
		if err := writeFormat(s.cfg.Dir, formatMarked); err != nil {
			return err
		}
	}
	if s.db, err = openState(filepath.Join(s.cfg.Dir, "state"), s.cfg, s.tools, s.foundTable()); err != nil {
		return err
	}
	s.state = state.New(s.db)
	s.reads = &s.state.Reader
	s.flush = &flusher{db: s.db, gaveUp: s.cfg.Volume.GaveUp()}
	identity, err := proto.Marshal(&wire.Identity{Cluster: table.Cluster, RaftId: string(s.meta.raftID)})
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	have, err := s.log.Identity()
	if err != nil {
		return err
	}
	if err := checkIdentity("log", have, identity, born, func() error { return s.log.SetIdentity(identity) }); err != nil {
		return err
	}
	return s.checkStateIdentity(identity, born)
}

// openLog opens the log of all ranges. Damaged is as in [sharedlog.Config].
func openLog(cfg Config, tools tools, damaged func(error)) (*sharedlog.Log, error) {
	return sharedlog.Open(sharedlog.Config{
		Dir: filepath.Join(cfg.Dir, "log"), FullBytes: cfg.SnapshotBytes,
		Fail: tools.fail, Files: cfg.Volume.FS(cfg.files), MemTable: cfg.Volume.MemTable(), GaveUp: cfg.Volume.GaveUp(), Logger: tools.pebbleLogger("log"),
		Unmarked: cfg.unmarked, Damaged: damaged,
	})
}

func (s *Store) checkStateIdentity(identity []byte, born bool) error {
	value, closer, err := s.db.Get(state.IdentityKey())
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return disk.ReadError("read state", err)
	}
	have := append([]byte(nil), value...)
	if closer != nil {
		if err := closer.Close(); err != nil {
			return disk.ReadError("read state", err)
		}
	}
	return checkIdentity("state", have, identity, born, func() error {
		if err := s.db.Set(state.IdentityKey(), identity, pebble.NoSync); err != nil {
			return fmt.Errorf("write identity: %w", err)
		}
		return s.flush.flush()
	})
}

// checkIdentity marks a new store. One without a mark after the ranges were born
// has lost its data.
func checkIdentity(store string, have, want []byte, born bool, mark func() error) error {
	switch {
	case len(have) == 0 && born:
		return disk.Corrupt("the %s store is empty, it was not", store)
	case len(have) == 0:
		return mark()
	case string(have) != string(want):
		return fmt.Errorf("%w: its %s store is of another cluster or node", ErrForeign, store)
	default:
		return nil
	}
}

// stateMemTable is how many bytes of the state are gathered in memory, at most, before
// they are written as a sorted file.
const stateMemTable = 32 << 20

// openState opens the store of all ranges' states. It has no write-ahead log:
// the ranges' logs are that. Found is told of damage; nil: a compaction that meets it is fatal.
func openState(dir string, cfg Config, tools tools, found func(disk.DamagedTable)) (*pebble.DB, error) {
	memTable := min(cfg.Volume.MemTable(), stateMemTable)
	opts := &pebble.Options{
		FS:                          cfg.Volume.FS(cfg.files),
		Logger:                      tools.pebbleLogger("state"),
		FormatMajorVersion:          disk.Format,
		DisableWAL:                  true,
		MemTableSize:                memTable,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       32,
		CacheSize:                   cfg.CacheBytes + 2*int64(memTable), // pebble counts memtables as cache
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
	}
	// Pebble may keep ingested files as if they were a memtable, to be added at the
	// next flush; without a write-ahead log nothing would tell of them after a crash.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return disk.OpenWatched(dir, opts, found)
}
