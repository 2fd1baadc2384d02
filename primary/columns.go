package primary

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// columns are what the optimiser reads, by row. Only those exist that the policy and
// the channels need.
type columns struct {
	honeycomb.Channels
	buckets     []channel.Bucket // of each row; nil: there are no other nodes that are told of ranges
	subscribers float64          // Σ q
	fair, sizes bool
	rebuild     bool // a column is new, or a channel at another host: the optimiser prepares all of them again
}

// newColumns returns columns for n rows and an eighth more, all without channels.
func newColumns(c honeycomb.Config, n int) *columns {
	n += max(n/8, fewRows)
	columns := &columns{fair: c.Policy >= honeycomb.Fair, sizes: c.Cost == honeycomb.Bytes}
	columns.Subscribers = make([]float64, n)
	if columns.fair {
		columns.UpdateInterval = make([]float64, n)
	}
	if columns.sizes {
		columns.SizeBytes = make([]float64, n)
	}
	return columns
}

const fewRows = 64

// newColumns returns columns for n rows.
func (pl *planner) newColumns(n int) *columns {
	c := newColumns(pl.rates.config, n)
	if pl.exchange != nil {
		c.buckets = make([]channel.Bucket, c.Len())
	}
	return c
}

// place notes in which bucket a row's channel is.
func (c *columns) place(i int32, bucket channel.Bucket) {
	if c.buckets != nil {
		c.buckets[i] = bucket
	}
}

// house makes room for the numbers of hosts, or takes it away.
func (c *columns) house(needed bool) {
	if !needed {
		c.Host = nil
	} else if c.Host == nil {
		c.Host = slices.Repeat([]int32{noHost}, c.Len())
	}
}

// row is what the columns have of a channel.
type row struct {
	subscribers, cost, interval, least, most float64
	host                                     int32
}

// write puts a channel in its row.
func (c *columns) write(i int32, r row) {
	if c.Host != nil && c.Host[i] != r.host {
		c.rebuild = c.rebuild || c.Subscribers[i] > 0
		c.Host[i] = r.host
	}
	c.count(i, r.subscribers)
	if c.fair {
		c.UpdateInterval[i] = r.interval
	}
	if c.sizes {
		c.SizeBytes[i] = r.cost
	}
	c.bound(&c.MinRate, i, r.least)
	c.bound(&c.MaxRate, i, r.most)
}

// empty takes the channel out of a row. The row's host stays: the optimiser takes it
// from there.
func (c *columns) empty(i int32) { c.count(i, 0) }

func (c *columns) count(i int32, subscribers float64) {
	c.subscribers += subscribers - c.Subscribers[i]
	c.Subscribers[i] = subscribers
}

// bound writes to a column that exists only once some channel has such a bound.
func (c *columns) bound(column *[]float64, i int32, bound float64) {
	if *column == nil {
		if bound == 0 {
			return
		}
		*column, c.rebuild = make([]float64, c.Len()), true
	}
	(*column)[i] = bound
}

// subscribersOf returns what a row has, 0 when there is none yet.
func (c *columns) subscribersOf(i int32) uint32 {
	if int(i) >= c.Len() {
		return 0
	}
	return uint32(c.Subscribers[i])
}

// hostOf returns the number of a row's host, noHost for none whose cap could bind.
func (c *columns) hostOf(i int32) int32 {
	if c.Host == nil {
		return noHost
	}
	return c.Host[i]
}

// wish reads a column of bounds, of which 0 is none.
func wish(column []float64, i int32) float64 {
	if column == nil {
		return 0
	}
	return column[i]
}

// rowOf is a channel's row as of a time.
func (p *plan) rowOf(f factors, now time.Time) row {
	r := row{
		subscribers: float64(f.subscribers),
		cost:        p.costOf(f),
		most:        f.most.float(),
		host:        p.hosts.column(f.host),
	}
	if p.columns.fair {
		r.interval = f.evidence.interval(now)
	}
	if least := f.evidence.least(now, p.interval); least*overlay.MostIntervals > 1 {
		r.least = least // else the slowest rate is no less
	}
	return r
}
