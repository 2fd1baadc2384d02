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
	waited    prometheus.Counter

	lookups, lookupFailures, lookupsSaved prometheus.Counter
	handshakes, resumptions               prometheus.Counter
}

// statusNames are the values of the label status.
var statusNames = [...]string{"2xx", "304", "3xx", "4xx", "5xx"}

func newMetrics(registerer prometheus.Registerer, f *Fetcher) *metrics {
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
			Name: "corona_fetch_seconds", Help: "Time of fetches that ended in a response.",
			Buckets: []float64{.001, .005, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30},
		}),
		received:  counter("received_bytes_total", "Bytes received from origins, compressed as they came, without TLS."),
		redirects: counter("redirects_total", "Responses that lead elsewhere, to where may be asked."),
		dials:     counter("dials_total", "Connections begun."),
		waited:    counter("memory_wait_seconds_total", "Time that polls of large bodies have waited for memory before they asked."),
		resent:    counter("resent_total", "Requests sent again since an idle connection had died."),

		lookups:        counter("lookups_total", "Names that the resolver was asked for."),
		lookupFailures: counter("lookup_failures_total", "Lookups that found no address."),
		lookupsSaved:   counter("lookups_saved_total", "Names answered from memory, or with another's lookup."),
		handshakes:     counter("tls_handshakes_total", "TLS handshakes that succeeded."),
		resumptions:    counter("tls_resumptions_total", "TLS handshakes that resumed a session."),
	}
	for i, name := range statusNames {
		m.responses[i] = responses.WithLabelValues(name)
	}
	for class := range classes {
		m.failures[class] = failures.WithLabelValues(class.String())
	}
	registerer.MustRegister(responses, failures, m.inFlight, m.seconds, m.received, m.redirects, m.dials, m.resent, m.waited,
		m.lookups, m.lookupFailures, m.lookupsSaved, m.handshakes, m.resumptions,
		gauge("connections_open", "Connections open or being dialled.", func() int { return f.pool.open() }),
		gauge("connections_idle", "Connections kept for their host's next fetch.", func() int { return f.pool.idle() }),
		gauge("in_flight_bytes", "Memory of large bodies, of at most MaxInFlight.", func() int { return int(f.budget.taken()) }),
		gauge("names", "Hosts whose addresses, or lack of them, are known.", func() int { return f.dialer.names.count() }),
		gauge("tls_sessions", "TLS sessions kept.", func() int { return f.dialer.sessions.count() }))
	return m
}

func (m *metrics) done(resp *Response) {
	m.responses[statusIndex(resp.Status)].Inc()
	m.seconds.Observe(resp.Finished.Sub(resp.Started).Seconds())
}

func (m *metrics) handshake(resumed bool) {
	m.handshakes.Inc()
	if resumed {
		m.resumptions.Inc()
	}
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
