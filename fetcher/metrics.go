package fetcher

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	inFlight  prometheus.Gauge
	responses [len(statusNames)]prometheus.Counter // by statusIndex
	failures  [classes]prometheus.Counter
	seconds   prometheus.Histogram
	received  prometheus.Counter
	redirects prometheus.Counter
	dials     prometheus.Counter
	resent    prometheus.Counter
}

// statusNames are the values of the label status.
var statusNames = [...]string{"2xx", "304", "3xx", "4xx", "5xx"}

func newMetrics(registerer prometheus.Registerer, p *pool) *metrics {
	if registerer == nil {
		registerer = prometheus.NewRegistry()
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_fetch_" + name, Help: help})
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "corona_fetch_" + name, Help: help}, func() float64 { return float64(value()) })
	}
	responses := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "corona_fetch_responses_total", Help: "Fetches that ended in a response, by status.",
	}, []string{"status"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "corona_fetch_failures_total", Help: "Fetches that ended without a response, by class of failure.",
	}, []string{"class"})
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "corona_fetch_in_flight", Help: "Fetches under way."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "corona_fetch_seconds", Help: "Time of fetches that ended in a response, redirects included.",
			Buckets: []float64{.001, .005, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30},
		}),
		received:  counter("received_bytes_total", "Bytes received from origins, compressed as they came, without TLS."),
		redirects: counter("redirects_total", "Redirects followed."),
		dials:     counter("dials_total", "Connections begun."),
		resent:    counter("resent_total", "Requests sent again since an idle connection had died."),
	}
	for i, name := range statusNames {
		m.responses[i] = responses.WithLabelValues(name)
	}
	for class := range classes {
		m.failures[class] = failures.WithLabelValues(class.String())
	}
	registerer.MustRegister(responses, failures, m.inFlight, m.seconds, m.received, m.redirects, m.dials, m.resent,
		gauge("connections_open", "Connections open or being dialled.", p.open),
		gauge("connections_idle", "Connections kept for their host's next fetch.", p.idle))
	return m
}

func (m *metrics) done(resp *Response) {
	m.responses[statusIndex(resp.Status)].Inc()
	m.seconds.Observe(resp.Finished.Sub(resp.Started).Seconds())
}

// statusIndex returns the place in statusNames of a final status, 200 to 599.
func statusIndex(status int) int {
	if status < 300 {
		return 0
	}
	if status == 304 {
		return 1
	}
	return status/100 - 1
}
