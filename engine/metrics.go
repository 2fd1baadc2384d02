package engine

import "github.com/prometheus/client_golang/prometheus"

// metrics are the engine's; none has a label per channel or host.
type metrics struct {
	polls                         [outcomes]prometheus.Counter
	lateness                      prometheus.Histogram
	hostWait                      prometheus.Histogram
	reports                       prometheus.Histogram
	clockSteps                    prometheus.Counter
	moves, moveErrors             prometheus.Counter
	hostRefusals, channelRefusals prometheus.Counter
	heeded                        prometheus.Counter
	all                           []prometheus.Collector
	loopBusy                      prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		lateness:   histogram("lateness_seconds", "How long after a poll might have begun it did: waits for the loop and for a worker.", prometheus.ExponentialBuckets(0.0001, 4, 10)),
		hostWait:   histogram("host_wait_seconds", "How long after its slot a poll might begin: waits for its host's gap, parallelism and isolation.", prometheus.ExponentialBuckets(0.001, 4, 12)),
		reports:    histogram("report_seconds", "Time of a report to a channel's owner.", prometheus.ExponentialBuckets(0.0005, 4, 8)),
		moves:      counter("moves_total", "Times that an owner was told where a channel has moved."),
		moveErrors: counter("move_errors_total", "Times that an owner could not be told so."),
		clockSteps: counter("clock_steps_total", "Times that the wall clock was set."),
		loopBusy:   counter("loop_busy_seconds_total", "Time that the scheduling loop was not waiting."),
	}
	polls := counters("polls_total", "Polls that ended, by outcome.", "outcome")
	for o := range outcomes {
		m.polls[o] = polls.WithLabelValues(o.String())
	}
	refusals := counters("refusals_total", "Answers that asked not to be asked so soon, by what rests since.", "scope")
	m.hostRefusals, m.channelRefusals = refusals.WithLabelValues("host"), refusals.WithLabelValues("channel")
	m.heeded = counter("rests_heeded_total", "Times that a host began to rest, or rests longer, since it refused another node.")
	m.all = []prometheus.Collector{
		polls, refusals, m.heeded, m.lateness, m.hostWait, m.reports, m.moves, m.moveErrors, m.clockSteps, m.loopBusy,
	}
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_engine_" + name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "corona_engine_" + name, Help: help}, []string{label})
}

func gauge(name, help string, read func() float64) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "corona_engine_" + name, Help: help}, read)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "corona_engine_" + name, Help: help, Buckets: buckets})
}
