package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// Config says how an [Engine] polls.
type Config struct {
	// Dir holds the content cache, and the ledger of when channels and hosts were
	// asked last. It must be the engine's alone; losing it costs a full GET per
	// channel that may come too early, and a diff where a version changed meanwhile.
	Dir string

	// Interval is τ, the reference polling interval, that rates refer to. 0: 30 min.
	Interval time.Duration

	// Floor is the shortest time between two polls of one channel from here, at most
	// Interval. 0: 5 min, or Interval if that is shorter.
	Floor time.Duration

	// Sizes says that the owner is told how many bytes polls take: its rates follow from
	// that.
	Sizes bool

	// Workers is how many polls run at a time, over all hosts, at least 4. First polls
	// and hosts that were not asked before get at most half of them, slow hosts a
	// quarter. 0: 1024.
	Workers int

	// Nodes is how many nodes share what a host takes. Each has its part of
	// [channel.KeptBack] of HostParallel and the gaps, and what [Engine.Grant] gives it.
	// 0: 1, which has all. [Engine.SetNodes] changes it.
	Nodes int

	// HostParallel is how many requests one host gets at a time, one from each node at
	// least. One that is slow, or was not asked before, gets one. 0: 2.
	HostParallel int

	// HostGap is the shortest time between the beginnings of two requests to one
	// host, of all nodes. 0: none.
	HostGap time.Duration

	// PrivateHostGap is HostGap for hosts that are loopback or private addresses or
	// localhost. 0: none.
	PrivateHostGap time.Duration

	// ReportTimeout bounds one report to the owner. 0: 10 s.
	ReportTimeout time.Duration

	// Refused is told of each answer by which a host asks not to be asked so soon: until
	// when the host rests here. It must not block. nil: no other node needs to know.
	Refused func(channel.Rest)

	// Spared is told of each answer by which an origin asks a node not to be asked for a
	// channel that several nodes poll. It must not block. nil: no other node needs to know.
	Spared func(Spare)

	// CacheMemory is how many bytes of the content cache are kept in memory. 0: 32 MiB.
	CacheMemory int64

	// Volume looks after the file system of Dir; nil for none.
	Volume *volume.Volume

	// Fatal is told that the content cache's disk failed; it should end the process.
	// nil: panic.
	Fatal func(error)

	// Logger gets what concerns the whole engine; polls go to the metrics. nil: discard.
	Logger *slog.Logger

	fs vfs.FS // tests put the cache in memory
}

const (
	defaultInterval      = 30 * time.Minute
	defaultFloor         = 5 * time.Minute
	defaultWorkers       = 1024
	defaultHostParallel  = 2
	defaultReportTimeout = 10 * time.Second
	defaultCacheMemory   = 32 << 20
)

func (c Config) withDefaults() Config {
	fill(&c.Interval, defaultInterval)
	fill(&c.Floor, min(defaultFloor, c.Interval))
	fill(&c.Workers, defaultWorkers)
	fill(&c.Nodes, 1)
	fill(&c.HostParallel, defaultHostParallel)
	fill(&c.ReportTimeout, defaultReportTimeout)
	fill(&c.CacheMemory, defaultCacheMemory)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Fatal == nil {
		c.Fatal = func(err error) { panic(err) }
	}
	if c.fs == nil {
		c.fs = vfs.Default
	}
	c.fs = c.Volume.FS(c.fs)
	return c
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// store returns what the content cache and the ledger need of a configuration whose
// defaults are filled in.
func (c Config) store() store.Config {
	return store.Config{Dir: c.Dir, FS: c.fs, CacheMemory: c.CacheMemory, Volume: c.Volume, Fatal: c.Fatal, Logger: c.Logger}
}

// CheckFormat returns a [*datadir.FormatError] if a newer program wrote the files
// in a directory of [Config.Dir]. It writes nothing.
func CheckFormat(dir string) error { return store.CheckFormat(vfs.Default, dir) }

// Validate says what is wrong with a configuration whose defaults are filled in.
func (c Config) Validate() error {
	check := func(ok bool, format string, args ...any) error {
		if ok {
			return nil
		}
		return fmt.Errorf("engine: "+format, args...)
	}
	return errors.Join(
		check(c.Dir != "", "no Dir for the content cache"),
		check(c.Interval > 0, "Interval %s: want more than 0", c.Interval),
		check(c.Floor > 0 && c.Floor <= c.Interval, "Floor %s: want more than 0, at most the Interval %s", c.Floor, c.Interval),
		check(c.Workers >= 4, "Workers %d: want 4 at least", c.Workers),
		check(c.Nodes >= 0, "Nodes %d: want 0 or more", c.Nodes),
		check(c.HostParallel >= 1, "HostParallel %d: want 1 at least", c.HostParallel),
		check(c.HostGap >= 0, "HostGap %s: want 0 or more", c.HostGap),
		check(c.PrivateHostGap >= 0, "PrivateHostGap %s: want 0 or more", c.PrivateHostGap),
		check(c.ReportTimeout > 0, "ReportTimeout %s: want more than 0", c.ReportTimeout),
		check(c.CacheMemory > 0, "CacheMemory %d: want more than 0", c.CacheMemory),
	)
}

// hasRoom reports that the disk has room for first contents: one that is nearly full
// has none, and the owner would not commit them.
func (c Config) hasRoom() bool { return c.Volume.Level() < volume.Low }

// extractions is how many documents are read at a time: that is work for a
// processor, and each may need many times its size in memory.
func (c Config) extractions() int { return 2 * runtime.GOMAXPROCS(0) }
