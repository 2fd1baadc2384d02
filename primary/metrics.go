package primary

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	solves        *prometheus.CounterVec
	solveFailures prometheus.Counter
	solving       prometheus.Counter
	paced         prometheus.Counter
	planned       prometheus.Gauge

	told, heard, refused prometheus.Counter

	takeovers        prometheus.Counter
	takeoverFailures prometheus.Counter

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
		solves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_primary_solves_total", Help: "Solves for rates, of all channels or of those that changed.",
		}, []string{"of"}),
		solveFailures: counter("solve_failures_total", "Solves that found no rates."),
		solving:       counter("solving_seconds_total", "Time spent on rates: reading factors, solving, ordering."),
		paced:         counter("paced_total", "Rates of channels that were changed."),
		planned: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "corona_primary_planned_polls", Help: "Polls per interval at the rates that are ordered.",
		}),
		told:             counter("tradeoffs_told_total", "Summaries of the ranges that this node leads that were made for other nodes."),
		heard:            counter("tradeoffs_heard_total", "Summaries that other nodes told."),
		refused:          counter("tradeoffs_refused_total", "Summaries of other nodes, or of single ranges in them, that were refused."),
		takeovers:        counter("takeovers_total", "Ranges whose channels were ordered after this node came to lead them."),
		takeoverFailures: counter("takeover_failures_total", "Takeovers of one or several ranges that failed, and were tried again."),
		reports:          counter("reports_total", "Reports of pollers that were answered."),
		failures:         counter("report_failures_total", "Reports of pollers that could not be answered."),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_primary_verdicts_total", Help: "Judgements of reported content, by verdict.",
		}, []string{"verdict"}),
		ended:       counter("channels_ended_total", "Channels ended after an interval without subscribers."),
		endFailures: counter("channel_end_failures_total", "Channels that could not be ended yet."),
	}
	if registry != nil {
		registry.MustRegister(m.reports, m.failures, m.verdicts, m.ended, m.endFailures,
			m.solves, m.solveFailures, m.solving, m.paced, m.planned, m.takeovers, m.takeoverFailures,
			m.told, m.heard, m.refused)
	}
	return m
}

func (m *metrics) solved(full bool, took time.Duration, all sums) {
	of := "changed"
	if full {
		of = "all"
	}
	m.solves.WithLabelValues(of).Inc()
	m.solving.Add(took.Seconds())
	m.paced.Add(float64(all.paced))
	m.planned.Set(all.rate)
}

func (m *metrics) count(err error) {
	if err != nil {
		m.failures.Inc()
		return
	}
	m.reports.Inc()
}
