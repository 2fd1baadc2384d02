package store

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// OpenCache opens the cache. A store that cannot be opened because its files are
// damaged is set aside, and another is begun: its contents are fetched again.
func OpenCache(config Config, metrics *Metrics) (*Cache, error) {
	if err := config.FS.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory of the content cache: %w", err)
	}
	c, err := openDB(config, metrics)
	if err == nil || systemRefuses(err) {
		return c, err
	}
	if err := setAside(config, err); err != nil {
		return nil, fmt.Errorf("set damaged content cache aside: %w", err)
	}
	metrics.cacheSetAside.Inc()
	return openDB(config, metrics)
}

// systemRefuses reports that an error of opening the store is no finding of damage:
// the operating system refuses access or the lock, has no room, or its disk failed. A
// file that is not there, or is a directory, is damage.
func systemRefuses(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return errors.Is(err, fs.ErrPermission)
	}
	return !errors.Is(err, fs.ErrNotExist) && number != syscall.EISDIR && number != syscall.ENOTDIR
}

func openDB(config Config, metrics *Metrics) (*Cache, error) {
	lock, err := pebble.LockDirectory(config.Dir, config.FS)
	if err != nil {
		return nil, fmt.Errorf("lock content cache: %w", err)
	}
	defer lock.Close() // the store takes a reference of its own
	if err := markFormat(config.FS, config.Dir); err != nil {
		return nil, err
	}
	c := &Cache{
		config: config, metrics: metrics, packer: deltas.NewPacker(runtime.GOMAXPROCS(0)),
		unsynced: make(chan struct{}, 1), damaged: make(chan damage, 1),
	}
	var db atomic.Pointer[pebble.DB]
	c.gentle = volume.NewGentle(config.FS, func() bool {
		d := db.Load()
		return d != nil && d.Metrics().Levels[0].Sublevels >= manySublevels
	})
	options := cacheOptions(config)
	options.FS, options.Lock = c.gentle, lock
	options.EventListener = &pebble.EventListener{DataCorruption: c.isDamaged}
	if c.db, err = pebble.Open(config.Dir, options); err != nil {
		return nil, fmt.Errorf("open content cache (all of %s but ledger may be deleted: contents are fetched again): %w", config.Dir, err)
	}
	db.Store(c.db)
	if err := c.Shelf().empty(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove what the owner kept in the content cache: %w", err), c.db.Close())
	}
	return c, nil
}

// manySublevels of the store's uppermost level are twice as many as make it compact them.
const manySublevels = 8

func cacheOptions(config Config) *pebble.Options {
	options := &pebble.Options{
		FS:                 config.FS,
		FormatMajorVersion: storeFormat,
		CacheSize:          config.CacheMemory,
		MemTableSize:       min(16<<20, config.Volume.MemTable()),
		MaxOpenFiles:       500,
		Logger:             pebbleLogger{config.Logger, config.Fatal},
		// A table that is gone or cut does not keep the store closed. The first read of
		// it finds that, and it is cut out like one that is damaged later.
		DisableConsistencyCheck: true,
	}
	// Contents are packed, and that is nearly all that there is.
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return options
}
