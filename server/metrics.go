package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics of the API. Routes are patterns, so labels are few.
type metrics struct {
	requests     *prometheus.CounterVec // by route and status
	seconds      *prometheus.HistogramVec
	inFlight     prometheus.Gauge
	panics       prometheus.Counter
	unauthorized *prometheus.CounterVec // by reason
	conns        prometheus.Gauge
	connsEvicted prometheus.Counter
	connsRefused prometheus.Counter

	streams      prometheus.Gauge
	streamEvents prometheus.Counter
	streamEnds   *prometheus.CounterVec // by reason
	batchLines   *prometheus.CounterVec // by result
}

func newMetrics(reg prometheus.Registerer) *metrics {
	const ns, sub = "corona", "http"
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: name, Help: help})
		reg.MustRegister(g)
		return g
	}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: ns, Subsystem: sub, Name: "request_seconds",
		Help:    "Time from a request's header to the end of its answer; streams, batches, backups and restores are not in it.",
		Buckets: prometheus.ExponentialBucketsRange(0.0001, 10, 16),
	}, []string{"route"})
	reg.MustRegister(seconds)
	return &metrics{
		requests:     counters("requests_total", "Requests answered, by route and status; 0 is a client that left before its answer.", "route", "code"),
		seconds:      seconds,
		inFlight:     gauge("requests_in_flight", "Requests being answered, open streams among them."),
		panics:       counter("panics_total", "Requests whose handler panicked."),
		unauthorized: counters("unauthorized_total", "Requests refused for their token: missing, wrong, or unread since too many wrong ones came from there.", "reason"),
		conns:        gauge("connections", "Open connections."),
		connsEvicted: counter("connections_evicted_total", "Connections that waited for their client and were closed to make room."),
		connsRefused: counter("connections_refused_total", "Connections closed at once because no other waited for its client."),
		streams:      gauge("streams", "Open streams of updates."),
		streamEvents: counter("stream_events_total", "Events written to streams."),
		streamEnds:   counters("stream_ends_total", "Ended streams: the client left, was too slow, the node ended it, or the server stopped.", "reason"),
		batchLines:   counters("batch_lines_total", "Lines of batches: subscribed, deleted (what the key stands for), refused as bad input, or failed.", "result"),
	}
}

// observe counts an answered request.
func (m *metrics) observe(pattern string, status int, took time.Duration) {
	if pattern == "" {
		pattern = "none"
	}
	m.requests.WithLabelValues(pattern, strconv.Itoa(status)).Inc()
	if !slices.Contains(lasting, pattern) {
		m.seconds.WithLabelValues(pattern).Observe(took.Seconds())
	}
}

// metricsPage shows everything that the node's packages registered.
func (s *Server) metricsPage() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{Registry: s.registry, ErrorLog: s.errorLog()})
}
