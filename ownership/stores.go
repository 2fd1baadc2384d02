package ownership

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// stores are what the replicas of a node have in common on its disk: the log and the state.
type stores struct {
	*router
	cfg     Config
	log     *sharedlog.Log
	db      *pebble.DB // of router.state
	flush   *flusher
	writing atomic.Pointer[sharedlog.Log] // log, as soon as it is open; see hangs
}

// open opens log and state, and checks that they are of this node, whose raft ID is id.
func (d *stores) open(id raft.ServerID, table *wire.Meta, born bool) (err error) {
	var damagedLog func(error)
	var damagedTable func(disk.DamagedTable)
	if d.repairs != nil {
		damagedLog, damagedTable = d.repairs.noteShared, d.repairs.noteTable
	}
	if d.log, err = openLog(d.cfg, d.tools, damagedLog); err != nil {
		return err
	}
	d.writing.Store(d.log)
	if d.cfg.unmarked { // now it has a mark
		if err := writeFormat(d.cfg.Dir, formatMarked); err != nil {
			return err
		}
	}
	if d.db, err = openState(filepath.Join(d.cfg.Dir, "state"), d.cfg, d.tools, damagedTable); err != nil {
		return err
	}
	d.state = state.New(d.db)
	d.flush = &flusher{db: d.db, gaveUp: d.cfg.Volume.GaveUp()}
	identity, err := proto.Marshal(&wire.Identity{Cluster: table.Cluster, RaftId: string(id)})
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	have, err := d.log.Identity()
	if err != nil {
		return err
	}
	if err := checkIdentity("log", have, identity, born, func() error { return d.log.SetIdentity(identity) }); err != nil {
		return err
	}
	return d.checkStateIdentity(identity, born)
}

// close closes what is open. What is not flushed would be replayed at the next start; a disk
// without room for that does with the log.
func (d *stores) close() (err error) {
	if d.state != nil {
		d.state.Close()
		if d.cfg.Volume.Level() != volume.Critical {
			err = d.flush.flush()
		}
		if errors.Is(err, errNotFlushed) {
			err = nil
		}
		err = errors.Join(err, d.db.Close())
	}
	if d.log != nil {
		err = errors.Join(err, d.log.Close())
	}
	return err
}

// reset closes what an open that failed has left open.
func (d *stores) reset() (err error) {
	if d.db != nil {
		err = d.db.Close()
	}
	if d.log != nil {
		err = errors.Join(err, d.log.Close())
	}
	d.db, d.log, d.state, d.flush = nil, nil, nil, nil
	d.writing.Store(nil)
	return err
}

// hangs returns for how long a write of the log has been hanging. It may be called at any time.
func (d *stores) hangs() time.Duration {
	if log := d.writing.Load(); log != nil {
		return log.Hangs()
	}
	return 0
}

// group reads a replica of this node; see openGroup.
func (d *stores) group(r, all channel.Range, seat seat) (*group, error) {
	return openGroup(r, all, seat, d.log, d.db, d.state, d.flush, d.cfg, d.tools)
}

// openLog opens the log of all ranges. Damaged is as in [sharedlog.Config].
func openLog(cfg Config, tools tools, damaged func(error)) (*sharedlog.Log, error) {
	return sharedlog.Open(sharedlog.Config{
		Dir: filepath.Join(cfg.Dir, "log"), FullBytes: cfg.SnapshotBytes,
		Fail: tools.fail, Files: cfg.Volume.FS(cfg.files), MemTable: cfg.Volume.MemTable(), GaveUp: cfg.Volume.GaveUp(), Logger: tools.pebbleLogger("log"),
		Unmarked: cfg.unmarked, Damaged: damaged,
	})
}

func (d *stores) checkStateIdentity(identity []byte, born bool) error {
	value, closer, err := d.db.Get(state.IdentityKey())
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
		if err := d.db.Set(state.IdentityKey(), identity, pebble.NoSync); err != nil {
			return fmt.Errorf("write identity: %w", err)
		}
		return d.flush.flush()
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
