// Package metric makes the metrics of package notify and its parts, on one registry
// and under one prefix.
package metric

import "github.com/prometheus/client_golang/prometheus"

// Prefix begins the name of every metric of package notify.
const Prefix = "corona_notify_"

// Factory makes metrics and registers them. It has itself the one metric that the
// parts share.
type Factory struct {
	registry   prometheus.Registerer
	storeFails *prometheus.CounterVec
}

// New returns a factory on a registry, which may be nil.
func New(registry prometheus.Registerer) *Factory {
	f := &Factory{registry: registry}
	f.storeFails = f.Counters("store_failures_total", "Calls of the store that failed and are made again.", "call")
	return f
}

// StoreFailed counts a failed call of the store.
func (f *Factory) StoreFailed(call string) { f.storeFails.WithLabelValues(call).Inc() }

func register[M prometheus.Collector](f *Factory, m M) M {
	if f.registry != nil {
		f.registry.MustRegister(m)
	}
	return m
}

// Counter makes a counter.
func (f *Factory) Counter(name, help string) prometheus.Counter {
	return register(f, prometheus.NewCounter(prometheus.CounterOpts{Name: Prefix + name, Help: help}))
}

// Counters makes a counter for each value of a label.
func (f *Factory) Counters(name, help, label string) *prometheus.CounterVec {
	return register(f, prometheus.NewCounterVec(prometheus.CounterOpts{Name: Prefix + name, Help: help}, []string{label}))
}

// Gauge makes a gauge.
func (f *Factory) Gauge(name, help string) prometheus.Gauge {
	return register(f, prometheus.NewGauge(prometheus.GaugeOpts{Name: Prefix + name, Help: help}))
}

// Gauges makes a gauge for each value of a label.
func (f *Factory) Gauges(name, help, label string) *prometheus.GaugeVec {
	return register(f, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: Prefix + name, Help: help}, []string{label}))
}

// Histogram makes a histogram of seconds, with buckets from a millisecond to the
// longest webhook exchange and beyond.
func (f *Factory) Histogram(name, help string) prometheus.Histogram {
	return register(f, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: Prefix + name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600, 3600, 86400},
	}))
}
