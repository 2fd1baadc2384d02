package ownership

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// Open opens the store in Config.Dir, founding a cluster of one in an empty
// directory, and returns when every range leads and has applied its log. The
// caller sees to it that no other process has the directory.
//
// Its error is a [*datadir.FormatError], ErrForeign, ErrRanges, ErrCorrupt, the context's cause, or
// a failure of the disk. Nothing is served from a damaged directory.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	have, err := checkFormat(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("ownership: %w", err)
	}
	cfg.unmarked = have < formatMarked
	metrics := newMetrics(cfg.Registerer)
	loops, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{cfg: cfg, tools: newTools(cfg, metrics), cancel: cancel}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("ownership: %w", errors.Join(err, s.Close()))
	}
	s.loops.Go(func() { s.snapshots(loops) })
	s.loops.Go(func() { s.sweep(loops) })
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.meta, err = openMeta(ctx, filepath.Join(s.cfg.Dir, "meta"), s.cfg, s.tools); err != nil {
		return err
	}
	meta, err := s.meta.birth(s.cfg, s.tools.log)
	if err != nil {
		return err
	}
	if have := len(meta.Ranges); s.cfg.Ranges != 0 && s.cfg.Ranges != have {
		return fmt.Errorf("%w: %s was made with %d, which cannot be changed to %d", ErrRanges, s.cfg.Dir, have, s.cfg.Ranges)
	}
	s.cluster = hex.EncodeToString(meta.Cluster)
	if err := s.openStores(meta); err != nil {
		return err
	}
	if err := s.openGroups(meta); err != nil {
		return err
	}
	s.addGauges()
	if err := s.tools.metrics.register(); err != nil {
		return err
	}
	if err := s.startGroups(ctx); err != nil {
		return err
	}
	if !meta.RangesBorn {
		return s.meta.born()
	}
	return nil
}

// openStores opens log and state, and checks that they are this node's.
func (s *Store) openStores(meta *wire.Meta) (err error) {
	if s.log, err = openLog(s.cfg, s.tools); err != nil {
		return err
	}
	if s.cfg.unmarked { // now it has a mark
		if err := writeFormat(s.cfg.Dir); err != nil {
			return err
		}
	}
	if s.state, err = openState(filepath.Join(s.cfg.Dir, "state"), s.cfg, s.tools); err != nil {
		return err
	}
	s.flush = &flusher{db: s.state, gaveUp: s.cfg.Volume.GaveUp()}
	identity, err := proto.Marshal(&wire.Identity{Cluster: meta.Cluster, RaftId: string(s.meta.raftID)})
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	have, err := s.log.Identity()
	if err != nil {
		return err
	}
	if err := checkIdentity("log", have, identity, meta.RangesBorn, func() error { return s.log.SetIdentity(identity) }); err != nil {
		return err
	}
	return s.checkStateIdentity(identity, meta.RangesBorn)
}

// openLog opens the log of all ranges.
func openLog(cfg Config, tools tools) (*sharedlog.Log, error) {
	return sharedlog.Open(sharedlog.Config{
		Dir: filepath.Join(cfg.Dir, "log"), FullBytes: cfg.SnapshotBytes,
		Fail: tools.fail, Files: cfg.Volume.FS(cfg.files), MemTable: cfg.Volume.MemTable(), GaveUp: cfg.Volume.GaveUp(), Logger: tools.pebbleLogger("log"),
		Unmarked: cfg.unmarked,
	})
}

func (s *Store) checkStateIdentity(identity []byte, born bool) error {
	value, closer, err := s.state.Get(identityKey())
	if err != nil && !isMissing(err) {
		return disk.ReadError("read state", err)
	}
	have := append([]byte(nil), value...)
	if closer != nil {
		if err := closer.Close(); err != nil {
			return disk.ReadError("read state", err)
		}
	}
	return checkIdentity("state", have, identity, born, func() error {
		if err := s.state.Set(identityKey(), identity, pebble.NoSync); err != nil {
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
// the ranges' logs are that.
func openState(dir string, cfg Config, tools tools) (*pebble.DB, error) {
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
	return disk.Open(dir, opts)
}

// openGroups reads this node's ranges.
func (s *Store) openGroups(meta *wire.Meta) error {
	next := 0
	for _, r := range meta.Ranges {
		if int(r.From) != next || r.To < r.From || r.To >= channel.Buckets || int(r.Id) != len(s.groups) {
			return disk.Corrupt("range table: range %d has buckets %d to %d, want from %d", r.Id, r.From, r.To, next)
		}
		next = int(r.To) + 1
		g, err := openGroup(r.Id, channel.Bucket(r.From), channel.Bucket(r.To), s.log, s.state, s.flush, s.cfg, s.tools)
		if err != nil {
			return err
		}
		g.fsm.gate = &s.gate.RWMutex
		s.groups = append(s.groups, g)
		for b := r.From; b <= r.To; b++ {
			s.of[b] = g
		}
		found := g.founded
		if !meta.RangesBorn {
			found = func() error { return g.bootstrap(s.meta.raftID) }
		}
		if err := found(); err != nil {
			return err
		}
	}
	if next != channel.Buckets {
		return disk.Corrupt("range table ends at bucket %d", next)
	}
	return nil
}

// tellEvery is how often a start that takes long says how far it is.
const tellEvery = 2 * time.Second

// tellProgress says how far the start is until done is called, which waits for it.
func (s *Store) tellProgress() (done func()) {
	var telling sync.WaitGroup
	over := make(chan struct{})
	telling.Go(func() {
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				s.tools.log.Info("ranges replay their logs", "serving", s.serving(), "ranges", len(s.groups), "replayed_bytes", s.Unsnapshotted())
			}
		}
	})
	return func() { close(over); telling.Wait() }
}

// serving returns how many ranges this node leads and serves.
func (s *Store) serving() (n int) {
	for _, g := range s.groups {
		if g.serving.Load() {
			n++
		}
	}
	return n
}

// startGroups starts all groups at once and waits until they serve.
func (s *Store) startGroups(ctx context.Context) error {
	defer s.tellProgress()()
	errs := make([]error, len(s.groups))
	var starting sync.WaitGroup
	for i, g := range s.groups {
		starting.Go(func() { errs[i] = g.start(raft.ServerID(s.meta.raftID)) })
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, g := range s.groups {
		select {
		case <-g.ready:
		case <-ctx.Done():
			return fmt.Errorf("wait for range %d: %w", g.id, context.Cause(ctx))
		}
	}
	return nil
}

func (s *Store) addGauges() {
	m := s.tools.metrics
	m.gauge("channels", "Channels in ranges of this node.", func() float64 { n, _ := s.Counts(); return float64(n) })
	m.gauge("subscriptions", "Subscriptions in ranges of this node.", func() float64 { _, n := s.Counts(); return float64(n) })
	m.gauge("update_bytes", "Bytes of updates kept in ranges of this node.", func() float64 { return float64(s.UpdateBytes()) })
	m.gauge("unsnapshotted_bytes", "Bytes of log entries that no snapshot covers, and that a start replays.", func() float64 { return float64(s.Unsnapshotted()) })
	m.gauge("state_cache_bytes", "Memory that holds blocks of the state.", func() float64 { return float64(s.memory().BlockCache.Size) })
	m.gauge("state_memtable_bytes", "Memory that holds changes of the state that are not on disk yet.", func() float64 {
		tables := s.memory().MemTable
		return float64(tables.Size + tables.ZombieSize)
	})
	m.gauge("queued_bytes", "Bytes of commands that wait for their range's log.", func() float64 {
		n := 0
		for _, g := range s.groups {
			n += g.queue.size()
		}
		return float64(n)
	})
	m.gauge("leading_ranges", "Ranges that this node leads and serves.", func() float64 { return float64(s.serving()) })
}

// memory asks pebble what it holds.
func (s *Store) memory() *pebble.Metrics {
	done, err := s.reading()
	if err != nil {
		return &pebble.Metrics{}
	}
	defer done()
	return s.state.Metrics()
}
