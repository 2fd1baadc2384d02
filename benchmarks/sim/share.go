package sim

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// A share is one node's of a cluster: every channel of the ranges that it leads, with its
// optimal rate and its pollers. All channels are looked at one by one, and none of the
// others is kept.
type share struct {
	options Options
	config  honeycomb.Config
	chance
	node   int // the sampled one: it leads each range whose number leaves this, divided by their number
	ranges int
	led    []uint32
	scale  float64 // subscribers of channel i: scale/√i, rounded

	mu          sync.Mutex // guards what follows, while all channels are looked at
	own         []owned
	channels    int     // of all
	subscribers float64 // of all

	rates    []overlay.Rate
	told     []local.Told // of led
	standIns int          // that the plan of a node solves beside its own channels
	seats    []seat       // that the own channels give each node
	sums     sums
}

// owned is a channel of the sampled node.
type owned struct {
	id             channel.ID
	number         int
	subscribers    float64
	updateInterval float64 // seconds
}

// A seat is what a node polls of some channels.
type seat struct {
	channels int
	polls    float64 // per interval
}

// sums are over the channels that the sampled node owns.
type sums struct {
	subscribers, load, wait float64 // polls per interval; seconds times subscribers
	width                   float64
	changes, told           float64 // seen a second; pollers that each is told to
	orders                  float64 // bytes, once to each of all pollers
	paces                   float64 // bytes, likewise
}

func newShare(j *job, o Options, node int) (*share, error) {
	sh := &share{options: o, config: shortFloor.config(o), chance: chance{o.Seed}, node: node, ranges: rangesFor(o.Nodes), seats: make([]seat, o.Nodes)}
	for r := node; r < sh.ranges; r += o.Nodes {
		sh.led = append(sh.led, uint32(r))
	}
	var all float64
	for i := range o.Channels {
		all += 1 / math.Sqrt(float64(i+1))
	}
	sh.scale = float64(o.Subscriptions) / all
	if err := j.inParallel(scaleChunks, func(n int) { sh.look(n); j.step() }); err != nil {
		return nil, err
	}
	slices.SortFunc(sh.own, func(a, b owned) int { return a.number - b.number }) // chunks end in any order
	if err := sh.solve(j); err != nil {
		return nil, err
	}
	return sh, sh.order(j)
}

// look takes the channels of a chunk that the sampled node owns.
func (sh *share) look(chunk int) {
	from, to := sh.chunk(chunk, sh.options.Channels)
	var own []owned
	var subscribers float64
	url := sh.url(nil)
	for c := from; c < to; c++ {
		url = strconv.AppendInt(url[:len(sh.url(nil))], int64(c), 10)
		q := sh.subscribersOf(c)
		subscribers += q
		if id := channel.IDOf(string(url)); sh.leads(id.Bucket()) {
			own = append(own, owned{id, c, q, surveyInterval(sh.unit(forInterval, uint64(c), 0))})
		}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.own = append(sh.own, own...)
	sh.channels += to - from
	sh.subscribers += subscribers
}

// chunk returns the part of n things that a chunk has.
func (sh *share) chunk(chunk, n int) (from, to int) {
	return int(int64(n) * int64(chunk) / scaleChunks), int(int64(n) * int64(chunk+1) / scaleChunks)
}

func (sh *share) url(b []byte) []byte {
	return append(strconv.AppendUint(append(b, "http://s"...), sh.seed, 10), ".example/"...)
}

// subscribersOf rounds so that the mean is kept, but to one at least.
func (sh *share) subscribersOf(c int) float64 {
	exact := sh.scale / math.Sqrt(float64(c+1))
	return max(math.Floor(exact+sh.unit(forRounding, uint64(c), 0)), 1)
}

// rangeOf is the number of the range with a bucket.
func (sh *share) rangeOf(b channel.Bucket) uint32 {
	return uint32(int(b) * sh.ranges / channel.Buckets)
}

func (sh *share) leads(b channel.Bucket) bool { return int(sh.rangeOf(b))%sh.options.Nodes == sh.node }

// solve makes the plan of the sampled node beside those of all others, as many maintenance
// intervals as it takes to settle. Its ranges stand for the others', whose channels are as
// random: what they tell is what it would hear.
func (sh *share) solve(j *job) error {
	board, corrector := local.NewBoard(sh.options.Maintenance), new(local.Corrector)
	channels := honeycomb.Channels{Subscribers: make([]float64, len(sh.own)), UpdateInterval: make([]float64, len(sh.own))}
	for i, m := range sh.own {
		channels.Subscribers[i], channels.UpdateInterval[i] = m.subscribers, m.updateInterval
	}
	var plan *local.Plan
	for round := range scaleRounds {
		at := time.Duration(round) * sh.options.Maintenance
		others := board.Others(at, sh.led, func(uint32) float64 { return 1 / float64(sh.ranges) })
		var err error
		if plan, err = local.Solve(sh.config, channels, others, corrector, 0); err != nil {
			return err
		}
		sh.tell(plan, board, uint64(round+1), at)
		if !j.step() {
			return j.ctx.Err()
		}
	}
	sh.rates = make([]overlay.Rate, len(sh.own))
	for i := range sh.own {
		polls, intervals := honeycomb.Fraction(plan.Problem.Rate(i))
		sh.rates[i] = overlay.Rate{Polls: polls, Intervals: intervals}
	}
	return nil
}

// tell puts on the board what the plan says of the node's ranges, and the same of all others.
func (sh *share) tell(plan *local.Plan, board *local.Board, round uint64, at time.Duration) {
	summaries := plan.SummariseParts(len(sh.led), func(row int) int {
		return int(sh.rangeOf(sh.own[row].id.Bucket())) / sh.options.Nodes
	})
	sh.told, sh.standIns = nil, 0
	for r := range sh.ranges {
		told := local.Told{Range: uint32(r), Term: 1, Sequence: round, Summary: summaries[r%len(summaries)]}
		if r%sh.options.Nodes == sh.node {
			told.Summary = summaries[r/sh.options.Nodes]
			sh.told = append(sh.told, told)
		} else {
			sh.standIns += len(told.Summary.Clusters) * local.StandIns
		}
		board.Put(told, at)
	}
}
