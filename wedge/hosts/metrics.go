package hosts

import "github.com/prometheus/client_golang/prometheus"

// metrics are the package's; none has a label per host.
type metrics struct {
	reported, committed, heard, asked, granted, invalid, failures prometheus.Counter

	all []prometheus.Collector
}

func newMetrics() *metrics {
	m := &metrics{}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_hosts_" + name, Help: help})
		m.all = append(m.all, c)
		return c
	}
	m.reported = counter("rests_reported_total", "Times that a host's refusal of this node was to be told to the leader of its range.")
	m.committed = counter("rests_committed_total", "Rests of hosts that this node has committed, as the leader of their ranges.")
	m.heard = counter("rests_heard_total", "Rests of hosts that leaders of ranges, this node among them, have told this node.")
	m.asked = counter("shares_asked_total", "Times that a part of a host's cap was asked for.")
	m.granted = counter("shares_granted_total", "Times that a part of a host's cap was granted to this node.")
	m.invalid = counter("invalid_total", "Messages about hosts that were refused, since no sound node sends such.")
	m.failures = counter("send_failures_total", "Attempts to send a message about hosts that failed.")
	return m
}
