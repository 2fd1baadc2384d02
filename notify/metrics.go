package notify

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	messages   *prometheus.CounterVec // acknowledged, by type
	failures   *prometheus.CounterVec // failed calls, by class
	seconds    prometheus.Histogram
	delay      prometheus.Histogram
	inFlight   prometheus.Gauge
	lanes      prometheus.Gauge
	endpoints  *prometheus.GaugeVec // by state
	batches    prometheus.Counter
	positions  prometheus.Counter
	stragglers prometheus.Counter
	storeFails *prometheus.CounterVec // by what was asked
	scans      prometheus.Counter

	streams      prometheus.Gauge
	streamEvents *prometheus.CounterVec // by type
	catchUps     prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	f := factory{registry}
	return &metrics{
		messages:   f.counters("webhook_messages_total", "Webhook messages that were acknowledged.", "type"),
		failures:   f.counters("webhook_failures_total", "Webhook requests that were not acknowledged.", "class"),
		seconds:    f.histogram("webhook_request_seconds", "Time that a webhook request took, acknowledged or not."),
		delay:      f.histogram("webhook_delay_seconds", "Time from the detection of an update to its acknowledgement, per subscription."),
		inFlight:   f.gauge("webhook_requests_in_flight", "Webhook requests under way."),
		lanes:      f.gauge("webhook_lanes", "Subscriptions with a message waiting in memory or under way."),
		endpoints:  f.gauges("webhook_endpoints", "Endpoints that do not work, by state.", "state"),
		batches:    f.counter("progress_batches_total", "Batches of delivery positions that were committed."),
		positions:  f.counter("progress_positions_total", "Delivery positions of channels that were committed."),
		stragglers: f.counter("progress_stragglers_total", "Changes of stragglers that were committed."),
		storeFails: f.counters("store_failures_total", "Calls of the store that failed and are made again.", "call"),
		scans:      f.counter("scans_total", "Scans of all channels for what is to be delivered: one at the start, others after dropped wakes."),

		streams:      f.gauge("streams", "Open streams."),
		streamEvents: f.counters("stream_events_total", "Events read from streams.", "type"),
		catchUps:     f.counter("stream_store_reads_total", "Pages that streams read from the store, because they were behind what is kept in memory."),
	}
}

// factory makes metrics and registers them, unless there is no registry.
type factory struct{ registry prometheus.Registerer }

func register[M prometheus.Collector](f factory, m M) M {
	if f.registry != nil {
		f.registry.MustRegister(m)
	}
	return m
}

const metricPrefix = "corona_notify_"

func (f factory) counter(name, help string) prometheus.Counter {
	return register(f, prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + name, Help: help}))
}

func (f factory) counters(name, help, label string) *prometheus.CounterVec {
	return register(f, prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + name, Help: help}, []string{label}))
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	return register(f, prometheus.NewGauge(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help}))
}

func (f factory) gauges(name, help, label string) *prometheus.GaugeVec {
	return register(f, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help}, []string{label}))
}

// histogram has buckets from a millisecond to the longest exchange and beyond.
func (f factory) histogram(name, help string) prometheus.Histogram {
	return register(f, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: metricPrefix + name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600, 3600, 86400},
	}))
}
