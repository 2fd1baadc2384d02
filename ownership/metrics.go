package ownership

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of a store. Durations are seconds.
type metrics struct {
	registerer prometheus.Registerer
	registered []prometheus.Collector

	commands, entries, entryBytes, replaySkipped prometheus.Counter
	entryCommands, entrySeconds, applySeconds    prometheus.Histogram
	unavailable, noSpace                         prometheus.Counter
	snapshots, snapshotsFailed                   prometheus.Counter
	transfersSent, transfersUnsent               prometheus.Counter
	transfersReceived, transfersRefused          prometheus.Counter
	transferBytes                                prometheus.Counter
	elections                                    prometheus.Counter
	sweeps, sweepsFailed                         prometheus.Counter
	scrubbed, scrubbedBytes, scrubDamage         prometheus.Counter
	replicasDamaged, compared, compareDiffers    prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{registerer: registerer}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "corona", Subsystem: "ownership", Name: name, Help: help})
		m.registered = append(m.registered, c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "corona", Subsystem: "ownership", Name: name, Help: help, Buckets: buckets})
		m.registered = append(m.registered, h)
		return h
	}
	seconds := prometheus.ExponentialBuckets(0.0001, 2, 17)
	m.commands = counter("commands_total", "Commands applied to ranges of this node.")
	m.entries = counter("entries_total", "Log entries proposed by this node.")
	m.entryBytes = counter("entry_bytes_total", "Bytes of log entries proposed by this node.")
	m.entryCommands = histogram("entry_commands", "Commands in a log entry.", prometheus.ExponentialBuckets(1, 2, 12))
	m.entrySeconds = histogram("entry_seconds", "From proposing a log entry to its application.", seconds)
	m.applySeconds = histogram("apply_seconds", "Applying a batch of log entries.", seconds)
	m.replaySkipped = counter("replay_skipped_entries_total", "Log entries met at start that the state had already.")
	m.unavailable = counter("unavailable_total", "Commands answered with an unknown outcome.")
	m.noSpace = counter("no_space_total", "Commands refused because the disk is nearly full.")
	m.snapshots = counter("snapshots_total", "Snapshots taken, per range.")
	m.snapshotsFailed = counter("snapshots_failed_total", "Snapshots that failed, per range.")
	m.transfersSent = counter("transfers_sent_total", "States of ranges made ready for another replica.")
	m.transfersUnsent = counter("transfers_unsent_total", "States of ranges that could not be made ready.")
	m.transferBytes = counter("transfer_bytes_total", "Bytes of the states made ready, compressed.")
	m.transfersReceived = counter("transfers_received_total", "States of ranges taken over from another replica.")
	m.transfersRefused = counter("transfers_refused_total", "States of ranges from another replica that were cut, damaged, foreign, too old, or could not be written.")
	m.elections = counter("elections_won_total", "Times that this node became the leader of a range.")
	m.sweeps = counter("sweep_commands_total", "Commands by which the sweeper forgot updates and keys.")
	m.sweepsFailed = counter("sweep_commands_failed_total", "Commands of the sweeper that failed.")
	m.scrubbed = counter("scrubbed_buckets_total", "Buckets of states that were read to find damage.")
	m.scrubbedBytes = counter("scrubbed_bytes_total", "Bytes of keys and values in them.")
	m.compared = counter("compared_buckets_total", "Buckets of ranges led by this node of which most replicas had the same hash.")
	m.compareDiffers = counter("compare_differences_total", "Replicas of ranges led by this node whose hash of a bucket was another one than that of most.")
	m.replicasDamaged = counter("replicas_damaged_total", "Replicas of this node that were found to be damaged, and are filled again.")
	m.scrubDamage = counter("scrub_damage_total", "Buckets that were found damaged, each time that they were read.")
	return m
}

// gauge adds a figure that is read when it is asked for.
func (m *metrics) gauge(name, help string, read func() float64) {
	m.registered = append(m.registered, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: "corona", Subsystem: "ownership", Name: name, Help: help}, read))
}

// register makes the metrics visible, all or none.
func (m *metrics) register() error {
	for i, c := range m.registered {
		if err := m.registerer.Register(c); err != nil {
			m.registered = m.registered[:i]
			m.unregister()
			return errors.Join(errors.New("register metrics"), err)
		}
	}
	return nil
}

// unregister lets the next store of the same registerer register its own.
func (m *metrics) unregister() {
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
	m.registered = nil
}
