package stream

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
)

type metrics struct {
	*metric.Factory
	streams  prometheus.Gauge
	events   *prometheus.CounterVec // by type
	catchUps prometheus.Counter
	lagging  prometheus.Gauge
	demands  prometheus.Counter
}

func newMetrics(f *metric.Factory) *metrics {
	return &metrics{
		Factory:  f,
		streams:  f.Gauge("streams", "Open streams."),
		events:   f.Counters("stream_events_total", "Events read from streams.", "type"),
		catchUps: f.Counter("stream_store_reads_total", "Pages that streams read from the store, because they were behind what is kept in memory."),
		lagging:  f.Gauge("stream_lagging_ranges", "Ranges whose updates streams do not wait for, because they did not close a stamp in time."),
		demands:  f.Counter("stream_demands_total", "Times that a range was asked to close a stamp, because an update of another one waited for it."),
	}
}
