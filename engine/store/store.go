// Package store keeps on disk what an engine needs after a restart, in one
// directory: the content cache, which may be lost at the price of full GETs, and
// the ledger, a crash-safe log of last request times, without which polls come too
// early once.
//
// It stores values and decides nothing: which content is current is the owner's
// answer, and when a channel is polled is the schedule's.
package store

import (
	"errors"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// Config says where a [Cache] and a [Ledger] are. Every field must be set but
// Volume.
type Config struct {
	Dir         string         // holds both, and nothing else
	FS          vfs.FS         // that Dir is on
	CacheMemory int64          // bytes of the content cache that are kept in memory
	Volume      *volume.Volume // looks after the file system of Dir; nil: none does
	Fatal       func(error)    // is told that the cache's disk failed; it should end the process
	Logger      *slog.Logger
}

// Metrics count failures and repairs.
type Metrics struct {
	cacheErrors             prometheus.Counter
	cacheCut, cacheSetAside prometheus.Counter
	ledgerErrors            prometheus.Counter
	ledgerLost              prometheus.Counter
	mends                   *prometheus.CounterVec
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	m := &Metrics{
		cacheErrors:  counter("cache_errors_total", "Reads and writes of the content cache that failed."),
		ledgerErrors: counter("ledger_errors_total", "Writes of the ledger that failed."),
		ledgerLost:   counter("ledger_rows_lost_total", "Rows of the ledger that could not be read at the start."),
		mends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_engine_cache_mends_total", Help: "Times that damage of the content cache on disk was mended, by how.",
		}, []string{"how"}),
	}
	m.cacheCut, m.cacheSetAside = m.mends.WithLabelValues("cut"), m.mends.WithLabelValues("set_aside")
	return m
}

// Collectors returns all of them.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.cacheErrors, m.ledgerErrors, m.ledgerLost, m.mends}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_engine_" + name, Help: help})
}

// ErrNoSpace says that the disk is too full for content or records.
var ErrNoSpace = errors.New("disk nearly full")
