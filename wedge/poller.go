package wedge

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// Poller obeys the owners of all ranges, this node's own and others, and takes to them
// what this node's engine reports. It is safe for concurrent use.
type Poller struct {
	reporter        // accepts what the engine says; it has the node's configuration, metrics and owner
	engine   Engine // set by Start
	holdings holdings

	mu struct {
		sync.Mutex
		ranges channel.ByRange[*obeyed]
		news   []engine.News // that wait for the disk
	}
	learn  chan struct{} // holds a token when there are news
	shared atomic.Bool   // other nodes poll from this node's address
}

// obeyed is a range whose owner this poller obeys.
type obeyed struct {
	Session
	until  time.Time               // end of the lease
	lapsed bool                    // the lease is over: rank 0 alone goes on
	seen   map[channel.ID]struct{} // ordered since the beginning of an order of all; nil: none is under way
}

// NewPoller returns the poller's side of a node, which carries out nothing before
// [Poller.Start].
func NewPoller(config Config) *Poller {
	config = config.withDefaults()
	config.metrics = newMetrics(config.Registerer)
	bases := &contents{packer: deltas.NewPacker(2)}
	p := &Poller{
		learn:    make(chan struct{}, 1),
		reporter: reporter{config: config, metrics: config.metrics, packer: bases.packer},
		holdings: holdings{config: config, metrics: config.metrics, bases: bases, wake: make(chan struct{}, 1)},
	}
	p.reporter.rangeOf = p.obeys
	return p
}

func (p *Poller) setOwner(o *Owner) { p.owner, p.holdings.reports = o, &o.reports }

// Start gives the poller the engine that polls, and the owner a shelf for contents.
func (p *Poller) Start(e Engine, shelf Shelf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine, p.holdings.engine, p.holdings.bases.shelf = e, e, shelf
}

// Run watches the leases and passes on what owners are told in passing, until ctx is
// done.
func (p *Poller) Run(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(func() { p.learnAll(ctx) })
	others.Go(func() { p.holdings.run(ctx) })
	// Not between looks at the leases, which run out also while no owner answers.
	others.Go(func() { p.often(ctx, func() { p.tellNotes(ctx) }) })
	p.often(ctx, func() { p.expire(time.Now()) })
	others.Wait()
}

// often calls a function sixty times in a lease, until ctx is done.
func (p *Poller) often(ctx context.Context, do func()) {
	ticker := time.NewTicker(p.config.Lease / 60)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// Serve answers what another node's owner has sent.
func (p *Poller) Serve(ctx context.Context, from string, bytes []byte) ([]byte, error) {
	request := new(wire.Request)
	if err := proto.Unmarshal(bytes, request); err != nil {
		return nil, fmt.Errorf("decode orders: %w", err)
	}
	reply := new(wire.Reply)
	switch of := request.GetOf().(type) {
	case *wire.Request_Batch:
		b, wrong, err := decodeBatch(of.Batch)
		if err != nil {
			return nil, fmt.Errorf("decode orders: %w", err)
		}
		p.metrics.refused.Add(float64(len(wrong)))
		for _, err := range wrong {
			p.config.Logger.Warn("refused an order", "owner", from, "range", b.ID, "error", err)
		}
		note(reply, b.ID, p.obey(from, b))
	case *wire.Request_Leases:
		for _, m := range of.Leases.GetSessions() {
			s, err := decodeSession(m)
			if err != nil {
				return nil, fmt.Errorf("decode leases: %w", err)
			}
			note(reply, s.ID, p.renew(s))
		}
	case *wire.Request_Asked:
		if err := p.stats(of.Asked, reply); err != nil {
			return nil, err
		}
	case *wire.Request_Wanted:
		if err := p.holdings.hand(of.Wanted, reply); err != nil {
			return nil, err
		}
	case *wire.Request_Spread:
		if err := p.pass(ctx, of.Spread, reply); err != nil {
			return nil, err
		}
	}
	return proto.Marshal(reply)
}

// verdict is what a poller makes of a batch or a lease.
type verdict uint8

const (
	taken    verdict = iota // or taken before
	again                   // orders before it are missing: all of the range have to come again
	outdated                // the range has an owner of a higher term
)

func note(reply *wire.Reply, r uint32, v verdict) {
	switch v {
	case again:
		reply.Again = append(reply.Again, r)
	case outdated:
		reply.Older = append(reply.Older, r)
	}
}

// obey carries out a batch of an owner.
func (p *Poller) obey(owner string, b batch) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.ranges.At(b.From)
	if v, next := r.place(&b.Session, b.begin); !next {
		return v
	}
	if r == nil || r.Term < b.Term || r.Range != b.Range {
		r = new(obeyed)
		p.mu.ranges.Set(b.Range, r)
	}
	r.Session, r.until = b.Session, time.Now().Add(p.config.Lease)
	if b.begin {
		r.lapsed, r.seen = false, make(map[channel.ID]struct{})
	}
	p.metrics.orders.Add(float64(len(b.items)))
	p.carryOut(r, owner, b.items)
	if b.complete && r.seen != nil {
		p.dropUnseen(r)
	}
	return taken
}

// place says whether a batch is the next one to be carried out, and what to answer if it
// is not. A nil range is not ordered yet.
func (r *obeyed) place(s *Session, begin bool) (v verdict, next bool) {
	switch {
	case r == nil || s.Term > r.Term:
		return again, begin
	case s.Term < r.Term:
		return outdated, planted.Bug(15)
	case s.Sequence <= r.Sequence:
		return taken, false
	case begin:
		return taken, true
	case r.lapsed || s.Sequence != r.Sequence+1:
		return again, false
	}
	return taken, true
}

// carryOut has the engine do what the items say, in their order, but for channels of ranges that
// have been split off since, and ordered. p.mu is held.
func (p *Poller) carryOut(r *obeyed, owner string, items []any) {
	var orders []engine.Order
	var paces []engine.Pace
	var drops []channel.ID
	var wanted []want
	flush := func() {
		if len(orders) > 0 {
			p.engine.Order(orders...)
		}
		if len(paces) > 0 {
			p.engine.Repace(paces...)
		}
		if len(drops) > 0 {
			p.engine.Drop(drops...)
		}
		orders, paces, drops = nil, nil, nil
	}
	for _, item := range items {
		if p.mu.ranges.At(channelOf(item).Bucket()) != r {
			continue
		}
		switch item := item.(type) {
		case engine.Order:
			if len(paces)+len(drops) > 0 {
				flush()
			}
			orders = append(orders, item)
			if item.Holder != "" && item.Version > 0 {
				wanted = append(wanted, newWant(&item, owner))
			}
			if r.seen != nil {
				r.seen[item.Channel] = struct{}{}
			}
		case engine.Pace:
			if len(orders)+len(drops) > 0 {
				flush()
			}
			paces = append(paces, item)
		case channel.ID:
			if len(orders)+len(paces) > 0 {
				flush()
			}
			drops = append(drops, item)
			delete(r.seen, item)
		case engine.Spare:
			flush()
			p.engine.Spare(item)
		case engine.News:
			p.mu.news = append(p.mu.news, item)
			signal(p.learn)
		}
	}
	flush()
	p.holdings.add(wanted...)
}

// dropUnseen drops what an earlier term, or what was lost, had ordered, but not what has been
// split off since, and ordered. p.mu is held.
func (p *Poller) dropUnseen(r *obeyed) {
	var drops []channel.ID
	for _, pace := range p.engine.Ordered(r.Range) {
		if _, seen := r.seen[pace.Channel]; !seen && p.mu.ranges.At(pace.Channel.Bucket()) == r {
			drops = append(drops, pace.Channel)
		}
	}
	r.seen = nil
	p.engine.Drop(drops...)
}

// signal leaves a token for a goroutine that waits for one.
func signal(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// learnAll has the engine take in news, which reads and writes its disk.
func (p *Poller) learnAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.learn:
		}
		p.mu.Lock()
		news := p.mu.news
		p.mu.news = nil
		p.mu.Unlock()
		for _, one := range news {
			if ctx.Err() != nil {
				return
			}
			p.engine.Learn(one)
		}
	}
}

// stats answers with the state of channels' polls, null for those that are not polled.
func (p *Poller) stats(asked *wire.Asked, reply *wire.Reply) (err error) {
	all := make([]*engine.ChannelStats, len(asked.GetChannels()))
	for i, bytes := range asked.GetChannels() {
		var id channel.ID
		if len(bytes) != len(id) {
			return fmt.Errorf("an ID of %d bytes", len(bytes))
		}
		copy(id[:], bytes)
		if stats, polled := p.engine.Stats(id); polled {
			all[i] = &stats
		}
	}
	reply.Stats, err = json.Marshal(all)
	return err
}

// obeys returns the range of a channel; ok is false where no owner has ordered it.
func (p *Poller) obeys(id channel.ID) (r channel.Range, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.mu.ranges.At(id.Bucket()); one != nil {
		return one.Range, true
	}
	return r, false
}
