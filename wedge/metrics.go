package wedge

import (
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// metrics of both sides of a node.
type metrics struct {
	orders, refused, lapsed prometheus.Counter
	reports                 *prometheus.CounterVec
	news                    *prometheus.CounterVec
	levels                  prometheus.Histogram
	moved                   prometheus.Counter
	contents                *prometheus.CounterVec
	bytes                   *prometheus.CounterVec
}

// What bytes between nodes are of. Those of an answer count with what was asked, at the
// node that asked.
const (
	ofOrders  = "orders"
	ofNews    = "news"
	ofLeases  = "leases"
	ofViews   = "views"
	ofReports = "reports"
	ofNotes   = "notes"
	ofContent = "contents"
)

// What a poller has sent with a report, of reports to other nodes.
const (
	sentHash    = "hash"
	sentDelta   = "delta"
	sentContent = "content"
)

// What has come of asking for the current version of a channel.
const (
	contentTaken   = "taken"
	contentMissing = "missing"
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
		contents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_wedge_contents_total", Help: "Current versions of channels that this node came to poll and asked other nodes for, by what came of it.",
		}, []string{"result"}),
		moved: counter("memberships_total", "Times that other nodes came to poll or left."),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corona_wedge_bytes_total", Help: "Bytes of this node's messages to owners and pollers on other nodes, and of their answers.",
		}, []string{"of"}),
	}
	for _, of := range []string{ofOrders, ofNews, ofLeases, ofViews, ofReports, ofNotes, ofContent} {
		m.bytes.WithLabelValues(of)
	}
	if registry != nil {
		registry.MustRegister(m.orders, m.refused, m.lapsed, m.reports, m.news, m.levels, m.moved, m.contents, m.bytes)
	}
	return m
}

func (m *metrics) count(of string, bytes int) { m.bytes.WithLabelValues(of).Add(float64(bytes)) }

// request counts the bytes of what was asked of another node, and of the answer. In a
// batch, news count apart from orders.
func (m *metrics) request(request *wire.Request, asked, answered int) {
	switch of := request.GetOf().(type) {
	case *wire.Request_Leases:
		m.count(ofLeases, asked+answered)
	case *wire.Request_Asked:
		m.count(ofViews, asked+answered)
	case *wire.Request_Wanted:
		m.count(ofContent, asked+answered)
	case *wire.Request_Spread:
		m.count(ofNews, asked+answered)
	case *wire.Request_Batch:
		news, others := 0, 0
		for _, item := range of.Batch.GetItems() {
			if item.GetNews() != nil {
				news += proto.Size(item)
			} else {
				others++
			}
		}
		if news > 0 && others == 0 {
			news = asked + answered
		}
		m.count(ofNews, news)
		m.count(ofOrders, asked+answered-news)
	}
}
