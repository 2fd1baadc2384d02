package volume

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of a volume.
type metrics struct {
	full, slow prometheus.Counter
	all        []prometheus.Collector
}

func newMetrics(v *Volume) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "corona", Subsystem: "disk", Name: name, Help: help})
	}
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "corona", Subsystem: "disk", Name: name, Help: help}, read)
	}
	m := &metrics{
		full: counter("full_total", "Writes that found no space."),
		slow: counter("slow_total", "Writes and fsyncs that took longer than a second."),
	}
	m.all = []prometheus.Collector{
		m.full, m.slow,
		gauge("free_bytes", "Bytes free on the file system of the data directory.", func() float64 { return float64(v.free.Load()) }),
		gauge("reserve_bytes", "Bytes below which nothing new is taken on.", func() float64 { return float64(v.reserve) }),
		gauge("ballast_bytes", "Bytes of the reserve that a file holds.", func() float64 { return float64(v.ballast.held()) }),
		gauge("level", "0: ok, 1: low, 2: critical.", func() float64 { return float64(v.Level()) }),
		gauge("waiting_writes", "Writes that wait for space.", func() float64 { return float64(v.waiting.Load()) }),
		gauge("pending_seconds", "How long the oldest unfinished write or fsync has taken so far.", func() float64 {
			_, age := v.pending.longest()
			return age.Seconds()
		}),
	}
	return m
}

// register makes the metrics visible, all or none.
func (m *metrics) register(to prometheus.Registerer) error {
	if to == nil {
		return nil
	}
	for i, c := range m.all {
		if err := to.Register(c); err != nil {
			m.all = m.all[:i]
			m.unregister(to)
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func (m *metrics) unregister(from prometheus.Registerer) {
	if from == nil {
		return
	}
	for _, c := range m.all {
		from.Unregister(c)
	}
}
