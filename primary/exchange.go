package primary

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
)

// exchange is what this node knows of the ranges of all nodes: tradeoffs in place of
// channels. A nil exchange is of a node that plans alone.
type exchange struct {
	settings string // of the optimiser, which all that add up have to share
	interval time.Duration
	ranges   func() []channel.Range // all of the cluster
	began    time.Time

	correct   local.Corrector // guarded by planner.solving
	corrected time.Duration   // when it was last moved on; guarded by planner.solving
	own       []*tenure       // of the latest solve of all; written under planner.solving and the book's lock, read under either

	mu struct {
		sync.Mutex
		board    *local.Board
		sequence uint64
		told     []byte                  // last
		solved   local.Others            // what the latest solve of all knew
		grows    func(local.Others) bool // whether its plan could grow, by what is known since
	}
}

func newExchange(c Config) *exchange {
	x := &exchange{
		settings: fmt.Sprintf("%v %v %v %v", c.Policy, c.Ladder, c.Cost, c.Interval),
		interval: c.maintenance(), ranges: c.Ranges, began: time.Now(),
	}
	x.mu.board = local.NewBoard(x.interval)
	x.mu.grows = func(local.Others) bool { return false }
	return x
}

func (x *exchange) corrector() *local.Corrector {
	if x == nil {
		return nil
	}
	return &x.correct
}

// byID returns all ranges of the cluster.
func (x *exchange) byID() map[uint32]channel.Range {
	ranges := make(map[uint32]channel.Range)
	for _, r := range x.ranges() {
		ranges[r.ID] = r
	}
	return ranges
}

// others returns what a solve of all is to know of other nodes' channels, beside those of
// the ranges that this node leads: of a node that plans alone, its share. Both locks are
// held.
func (x *exchange) others(share float64, led *channel.ByRange[*tenure]) local.Others {
	if x == nil {
		return local.Others{Part: share}
	}
	now := time.Since(x.began)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.own = nil
	for _, t := range led.All() {
		if t.learned {
			x.own = append(x.own, t)
		}
	}
	others := x.known(now)
	if others.Between = now-x.corrected < x.interval; !others.Between {
		x.corrected = now
	}
	x.mu.solved = others
	return others
}

// known returns what the board has beside the ranges of the latest solve of all. x.mu is
// held.
func (x *exchange) known(now time.Duration) local.Others {
	own := make([]uint32, len(x.own))
	for i, t := range x.own {
		own[i] = t.ID
	}
	ranges := x.byID()
	return x.mu.board.Others(now, own, func(id uint32) float64 { // as far as channels lie evenly over the buckets
		return float64(ranges[id].Buckets()) / channel.Buckets
	})
}

// sum returns the tradeoffs of the latest solve, which are known here from now on; the
// columns' rows are of channels in buckets. planner.solving is held.
func (x *exchange) sum(plan *local.Plan, buckets []channel.Bucket) (tradeoffs []byte) {
	summaries := plan.SummariseParts(len(x.own), x.partOf(buckets))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.sequence++
	x.mu.grows = plan.Grows()
	told := make([]local.Told, len(summaries))
	for i, t := range x.own {
		told[i] = local.Told{Range: t.ID, Term: t.term, Sequence: x.mu.sequence, Summary: summaries[i]}
		x.mu.board.Put(told[i], time.Since(x.began))
	}
	x.mu.told = encodeTradeoffs(x.settings, told)
	return x.mu.told
}

// partOf returns which of the ranges of the latest solve a row's channel is of, −1 for
// none.
func (x *exchange) partOf(buckets []channel.Bucket) func(row int) int {
	var of [channel.Buckets]int16
	for b := range of {
		of[b] = -1
	}
	for i, t := range x.own {
		for b := int(t.From); b <= int(t.To); b++ {
			of[b] = int16(i)
		}
	}
	return func(row int) int { return int(of[buckets[row]]) }
}

// Told returns what this node told last; nil: nothing yet, or it tells nothing.
func (pl *planner) Told() []byte {
	if pl.exchange == nil {
		return nil
	}
	pl.exchange.mu.Lock()
	defer pl.exchange.mu.Unlock()
	return pl.exchange.mu.told
}

// Hear accepts what another node told. What is wrong with a range's tradeoffs is logged
// and counted, and the others are taken; an error says that all of it is wrong.
func (pl *planner) Hear(tradeoffs []byte) error {
	x := pl.exchange
	if x == nil {
		return fmt.Errorf("this node plans alone")
	}
	told, wrong, err := decodeTradeoffs(tradeoffs, x.settings, x.byID())
	if err != nil {
		pl.metrics.refused.Inc()
		return fmt.Errorf("decode tradeoffs: %w", err)
	}
	for _, err := range wrong {
		pl.metrics.refused.Inc()
		pl.config.Logger.Warn("refused the tradeoffs of a range", "error", err)
	}
	pl.metrics.heard.Inc()
	if x.hear(told) {
		pl.book.Lock()
		pl.book.plan.stale = true
		pl.book.Unlock()
	}
	return nil
}

// farOff is by how much of all subscribers' load others' may change before all is solved
// again.
const farOff = 0.01

// hear accepts tradeoffs, and reports whether all is to be solved again: the latest solve
// knew far less or more of other nodes' subscribers, or they have made room for its plan.
func (x *exchange) hear(told []local.Told) (far bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Since(x.began)
	for _, t := range told {
		x.mu.board.Put(t, now)
	}
	knew, known := x.mu.solved, x.known(now)
	was, is := autoOf(knew.Summaries), autoOf(known.Summaries)
	all := is + autoOf(known.Own)
	return knew.Part != known.Part || math.Abs(is-was) > farOff*all || x.mu.grows(known)
}

func autoOf(summaries []local.Summary) (auto float64) {
	for _, s := range summaries {
		auto += s.Auto
	}
	return auto
}
