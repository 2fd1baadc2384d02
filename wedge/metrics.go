package wedge

import "github.com/prometheus/client_golang/prometheus"

// metrics of both sides of a node.
type metrics struct {
	orders, refused, lapsed prometheus.Counter
	reports                 *prometheus.CounterVec
	news                    *prometheus.CounterVec
	levels                  prometheus.Histogram
	moved                   prometheus.Counter
}

// What a poller has sent with a report, of reports to other nodes.
const (
	sentHash    = "hash"
	sentDelta   = "delta"
	sentContent = "content"
)

// How news reach a poller of another node.
const (
	newsDirect = "direct"
	newsTree   = "tree"
)

func newMetrics(registry prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "corona_wedge_" + name, Help: help})
	}
	m := &metrics{
		orders:  counter("orders_total", "Orders, paces and drops that this node's poller has taken from owners."),
		refused: counter("refused_total", "Orders that cannot be meant, and were not obeyed."),
		lapsed:  counter("lapsed_total", "Ranges whose owner has not been heard of for a lease."),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_wedge_reports_total", Help: "Reports to owners on other nodes, by what was sent.",
		}, []string{"sent"}),
		news: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_wedge_news_total", Help: "Pollers on other nodes that this node's owner has told of a version, by the way.",
		}, []string{"by"}),
		levels: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "corona_wedge_tree_level", Help: "Level of this node in trees by which it was told of a version.", Buckets: prometheus.LinearBuckets(1, 1, 8),
		}),
		moved: counter("memberships_total", "Times that other nodes came to poll or left."),
	}
	if registry != nil {
		registry.MustRegister(m.orders, m.refused, m.lapsed, m.reports, m.news, m.levels, m.moved)
	}
	return m
}
