package primary

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	reports     prometheus.Counter
	failures    prometheus.Counter
	verdicts    *prometheus.CounterVec
	ended       prometheus.Counter
	endFailures prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_primary_" + name, Help: help})
	}
	m := &metrics{
		reports:  counter("reports_total", "Reports of pollers that were answered."),
		failures: counter("report_failures_total", "Reports of pollers that could not be answered."),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_primary_verdicts_total", Help: "Judgements of reported content, by verdict.",
		}, []string{"verdict"}),
		ended:       counter("channels_ended_total", "Channels ended after an interval without subscribers."),
		endFailures: counter("channel_end_failures_total", "Channels that could not be ended yet."),
	}
	if registry != nil {
		registry.MustRegister(m.reports, m.failures, m.verdicts, m.ended, m.endFailures)
	}
	return m
}

func (m *metrics) count(err error) {
	if err != nil {
		m.failures.Inc()
		return
	}
	m.reports.Inc()
}
