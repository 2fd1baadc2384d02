package members

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	refused      prometheus.Counter
	conflicts    prometheus.Counter
	joins        prometheus.Counter
	joinFailures prometheus.Counter
	refusedLog   rate
	conflictLog  rate
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_gossip_" + name, Help: help})
	}
	return &metrics{
		refused:      counter("refused_total", "Packets, connections and members refused: of another key or program, broken, or one too many."),
		conflicts:    counter("conflicts_total", "Times that another node gossiped with the ID of a live one."),
		joins:        counter("joins_total", "Members that were joined at an address where none was seen."),
		joinFailures: counter("join_failures_total", "Attempts to join that failed, names that are not known included."),
	}
}

func (m *Members) register() {
	if m.config.Registerer == nil {
		return
	}
	m.config.Registerer.MustRegister(m.metrics.refused, m.metrics.conflicts, m.metrics.joins, m.metrics.joinFailures)
	for _, state := range []State{Alive, Dead} {
		m.config.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "corona_gossip_members", Help: "Members known by gossip, this node included.",
			ConstLabels: prometheus.Labels{"state": state.String()},
		}, func() float64 { return float64(m.count(state)) }))
	}
}

func (m *Members) count(state State) (n int) {
	for _, member := range m.List() {
		if member.State == state {
			n++
		}
	}
	return n
}

// rate allows one log line a second: strangers may cause them.
type rate struct{ last atomic.Int64 } // Unix nanoseconds

func (r *rate) allow(now time.Time) bool {
	last := r.last.Load()
	return now.UnixNano()-last >= int64(time.Second) && r.last.CompareAndSwap(last, now.UnixNano())
}

// logWriter turns memberlist's lines, "[LEVEL] memberlist: text", into records, and
// counts those that say that something was refused.
type logWriter struct {
	to      *slog.Logger
	metrics *metrics
}

func newLogger(to *slog.Logger, m *metrics) *log.Logger {
	return log.New(logWriter{to, m}, "", 0)
}

// Write implements [io.Writer].
func (w logWriter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	level := slog.LevelWarn
	if name, rest, ok := strings.Cut(text, " "); ok && strings.HasPrefix(name, "[") {
		text = rest
		if name == "[DEBUG]" || name == "[INFO]" {
			level = slog.LevelDebug
		}
	}
	text = strings.TrimPrefix(text, "memberlist: ")
	if level == slog.LevelWarn && received(text) {
		w.metrics.refused.Inc()
		if !w.metrics.refusedLog.allow(time.Now()) {
			return len(line), nil
		}
	}
	w.to.Log(context.Background(), level, "gossip", "detail", text)
	return len(line), nil
}

// received says whether a line of memberlist's log is about something that came from
// elsewhere: such lines name its sender at their end.
func received(line string) bool { return strings.Contains(line, " from=") }
