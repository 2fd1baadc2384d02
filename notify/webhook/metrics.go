package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
)

type metrics struct {
	*metric.Factory
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
	scans      prometheus.Counter
	questions  prometheus.Counter
	unanswered prometheus.Counter
}

func newMetrics(f *metric.Factory) *metrics {
	return &metrics{
		Factory:    f,
		messages:   f.Counters("webhook_messages_total", "Webhook messages that were acknowledged.", "type"),
		failures:   f.Counters("webhook_failures_total", "Webhook requests that were not acknowledged.", "class"),
		seconds:    f.Histogram("webhook_request_seconds", "Time that a webhook request took, acknowledged or not."),
		delay:      f.Histogram("webhook_delay_seconds", "Time from the detection of an update to its acknowledgement, per subscription."),
		inFlight:   f.Gauge("webhook_requests_in_flight", "Webhook requests under way."),
		lanes:      f.Gauge("webhook_lanes", "Subscriptions with a message waiting in memory or under way."),
		endpoints:  f.Gauges("webhook_endpoints", "Endpoints that do not work, by state: those that this node keeps, and others that it has something for.", "state"),
		batches:    f.Counter("progress_batches_total", "Batches of delivery positions that were committed."),
		positions:  f.Counter("progress_positions_total", "Delivery positions of channels that were committed."),
		stragglers: f.Counter("progress_stragglers_total", "Changes of stragglers that were committed."),
		scans:      f.Counter("scans_total", "Scans of channels for what is to be delivered: when ranges are gained, as at the start, and after dropped wakes."),
		questions:  f.Counter("webhook_questions_total", "Questions to the keepers of endpoints that fail, or may, on other nodes."),
		unanswered: f.Counter("webhook_questions_unanswered_total", "Of these, those that were not answered, and are asked again."),
	}
}
