package ownership

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
)

// Config is what [Open] needs.
type Config struct {
	// Dir is the store's own directory; it is created. Required.
	Dir string
	// Node is the node's name, without control characters. Required; a directory
	// keeps the name that it was made with.
	Node string
	// Ranges is the number of ranges, 1 to 1024, which is decided when the cluster is
	// born: later another number is refused with ErrRanges. Default: the recorded
	// number, 16 at the birth.
	Ranges int
	// Replicas is the number of replicas that the cluster wishes for each range;
	// default 3. It counts when the cluster is born. A cluster of one node has one
	// replica of each, whatever the wish.
	Replicas int
	// Cluster is what a node of several needs; nil for a cluster of this node alone.
	Cluster *Cluster
	// RetainBytes bounds the updates kept, in bytes; 0 for no bound. The latest 16
	// of each channel are kept in any case.
	RetainBytes uint64
	// SnapshotBytes is how much the shared log grows until it is truncated;
	// default 64 MiB, or what fits a small Volume. The log asks for it earlier when
	// half a memtable is full (32 MiB). A restart replays up to twice as much.
	SnapshotBytes uint64
	// CacheBytes is the memory for blocks of the state; default 32 MiB. Besides, 32
	// MiB of changes are gathered before they go to disk.
	CacheBytes int64
	// SweepInterval is the pause between two steps of the sweeper that forgets old
	// updates and keys; default 1 s.
	SweepInterval time.Duration
	// ScrubInterval is in what time all of this node's states are read once to find damage;
	// default a week.
	ScrubInterval time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Observer may be nil.
	Observer Observer
	// Fatal is told, once, that the disk failed in a way that this process must not
	// survive: a failed fsync is never repeated. It should end the process; what
	// met the error answers nothing more. Default: panic.
	Fatal func(error)
	// Volume looks after the file system of Dir; nil for none.
	Volume *volume.Volume
	// Logger may be nil.
	Logger *slog.Logger
	// Registerer takes the metrics; nil for a registry of its own.
	Registerer prometheus.Registerer

	files    vfs.FS          // of log and state; tests lose power on theirs
	unmarked bool            // the directory may have been written by a program without marks of the log
	versions tables.Versions // of the state machine that are applied; tests take the place of other programs
}

const (
	maxRanges     = 1024
	defaultRanges = 16
)

func (c Config) withDefaults() Config {
	c.Replicas = orDefault(c.Replicas, 3)
	c.SnapshotBytes = orDefault(c.SnapshotBytes, c.Volume.MemTable())
	c.CacheBytes = orDefault(c.CacheBytes, 32<<20)
	c.SweepInterval = orDefault(c.SweepInterval, time.Second)
	c.ScrubInterval = orDefault(c.ScrubInterval, 7*24*time.Hour)
	if c.Cluster != nil {
		cluster := *c.Cluster
		cluster.Grace = orDefault(cluster.Grace, 10*time.Minute)
		c.Cluster = &cluster
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.versions = orDefault(c.versions, tables.Versions{Oldest: oldestVersion, Newest: newestVersion})
	if c.files == nil {
		c.files = vfs.Default
	}
	if c.Registerer == nil {
		c.Registerer = prometheus.NewRegistry()
	}
	return c
}

func orDefault[T comparable](value, def T) T {
	var zero T
	if value == zero {
		return def
	}
	return value
}

func (c Config) validate() error {
	switch {
	case c.Dir == "":
		return fmt.Errorf("ownership: no directory")
	case c.Node == "" || len(c.Node) > 255 || strings.ContainsFunc(c.Node, unicode.IsControl):
		return fmt.Errorf("ownership: node name %.20q of %d bytes: want 1 to 255, no control characters", c.Node, len(c.Node))
	case c.Ranges < 0 || c.Ranges > maxRanges:
		return fmt.Errorf("ownership: %d ranges: want 1 to %d", c.Ranges, maxRanges)
	case c.Replicas < 1 || c.Replicas > 7:
		return fmt.Errorf("ownership: %d replicas: want 1 to 7", c.Replicas)
	case c.SweepInterval < 0 || c.ScrubInterval < 0 || c.CacheBytes < 0:
		return fmt.Errorf("ownership: negative interval or cache size")
	}
	return nil
}

// bounds cuts the buckets into even runs: range i is [bounds(i), bounds(i+1)).
func bounds(i, ranges int) channel.Bucket { return channel.Bucket(i * channel.Buckets / ranges) }

// dirPerm keeps sinks' secrets from other users.
const dirPerm os.FileMode = 0o700
