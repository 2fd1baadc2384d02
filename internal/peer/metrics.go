package peer

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	accepted     prometheus.Counter
	refused      *prometheus.CounterVec // by reason
	broken       prometheus.Counter
	dialFailures prometheus.Counter
	missed       prometheus.Counter
	lastLogged   atomic.Int64 // Unix nanoseconds
}

func newMetrics(registry prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "corona_peer_" + name, Help: help}
	}
	m := &metrics{
		accepted:     prometheus.NewCounter(counter("accepted_total", "Connections of other nodes that were taken.")),
		refused:      prometheus.NewCounterVec(counter("refused_total", "Connections of other nodes that were refused, by reason."), []string{"reason"}),
		broken:       prometheus.NewCounter(counter("broken_frames_total", "Frames with a bad length, checksum or role: their connections were closed.")),
		dialFailures: prometheus.NewCounter(counter("dial_failures_total", "Attempts to reach another node that failed.")),
		missed:       prometheus.NewCounter(counter("missed_pings_total", "Pings that another node did not answer in time.")),
	}
	if registry != nil {
		registry.MustRegister(m.accepted, m.refused, m.broken, m.dialFailures, m.missed)
	}
	return m
}

// mayLog allows one line a second about refusals: any client can cause them.
func (m *metrics) mayLog() bool {
	now := time.Now().UnixNano()
	last := m.lastLogged.Load()
	return now-last >= int64(time.Second) && m.lastLogged.CompareAndSwap(last, now)
}
