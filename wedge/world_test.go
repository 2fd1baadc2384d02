package wedge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/overlay"
)

const (
	tau   = 10 * time.Minute
	lease = time.Minute
)

// world is some nodes whose owners order channels of two ranges, over a network that can
// be cut, in virtual time.
type world struct {
	*testing.T
	nodes  []*node
	ranges []channel.Range
	stands time.Duration
	fanout int
	cut    map[[2]string]bool // calls from one node to another are lost
	mu     sync.Mutex
}

// node is both sides of a node, on an engine that does nothing but remember.
type node struct {
	w      *world
	name   string
	egress string
	engine *fakeEngine
	judge  *fakePrimary
	poller *Poller
	owner  *Owner
	alive  bool
	drains bool // it is to poll no more
	stop   context.CancelFunc
}

func newWorld(t *testing.T, nodes int) *world { return newWorldThat(t, nodes, 0, 0) }

// newWorldThat has other pollers adopted after a time, and news told to so many directly;
// 0: the defaults.
func newWorldThat(t *testing.T, nodes int, stands time.Duration, fanout int) *world {
	w := &world{T: t, stands: stands, fanout: fanout, cut: make(map[[2]string]bool), ranges: []channel.Range{
		{ID: 0, From: 0, To: channel.Buckets/2 - 1}, {ID: 1, From: channel.Buckets / 2, To: channel.Buckets - 1},
	}}
	for i := range nodes {
		w.nodes = append(w.nodes, &node{w: w, name: fmt.Sprintf("n%d", i), egress: fmt.Sprintf("n%d", i), alive: true})
	}
	for _, n := range w.nodes {
		n.start()
	}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.stop()
		}
		synctest.Wait()
	})
	return w
}

// start opens a node that has forgotten everything.
func (n *node) start() {
	config := Config{Self: n.name, Egress: n.egress, Interval: tau, Lease: lease, Stands: n.w.stands, Fanout: n.w.fanout, Call: n.call, Ask: n}
	n.engine = &fakeEngine{orders: make(map[channel.ID]engine.Order), contents: make(map[deltas.Hash]*deltas.Core), held: make(map[channel.ID]engine.News)}
	n.judge = &fakePrimary{node: n}
	n.poller = NewPoller(config)
	n.owner = NewOwner(config, n.judge, n.judge, n.poller, n.w.members)
	n.poller.Start(n.engine, &fakeShelf{of: make(map[channel.ID][]byte)})
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go n.owner.Run(ctx)
	go n.poller.Run(ctx)
}

func (w *world) members() (all []Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nodes {
		if n.alive && !n.drains {
			all = append(all, Member{n.name, n.egress})
		}
	}
	return all
}

func (w *world) set(n *node, alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n.alive = alive
}

func (w *world) drain(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n.drains = true
}

func (w *world) cutBetween(a, b *node, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[[2]string{a.name, b.name}], w.cut[[2]string{b.name, a.name}] = cut, cut
}

var (
	errCut  = errors.New("the network is cut")
	errLong = errors.New("a message is longer than its lane takes")
)

// call reaches nodes that live.
func (n *node) call(ctx context.Context, to string, request []byte) ([]byte, error) {
	n.w.mu.Lock()
	i := slices.IndexFunc(n.w.nodes, func(other *node) bool { return other.name == to })
	other := n.w.nodes[i]
	lost := n.w.cut[[2]string{n.name, to}] || !other.alive || !n.alive
	n.w.mu.Unlock()
	switch {
	case lost:
		return nil, errCut
	case len(request) > peer.MaxPayload:
		return nil, errLong
	}
	return carried(other.poller.Serve(ctx, n.name, request))
}

// carried is a reply behind its way through the network.
func carried(reply []byte, err error) ([]byte, error) {
	if len(reply) > peer.MaxPayload {
		return nil, errLong
	}
	return reply, err
}

// leader returns the node that orders a bucket.
func (w *world) leader(b channel.Bucket) *node {
	for _, n := range w.nodes {
		if n.owner.leads(channel.ID{byte(b >> 4), byte(b << 4)}) {
			return n
		}
	}
	return nil
}

var errNoLeader = errors.New("no leader")

func (n *node) Report(ctx context.Context, b channel.Bucket, report []byte) ([]byte, error) {
	if leader := n.w.leader(b); leader != nil {
		return carried(leader.owner.ServeReport(ctx, report))
	}
	return nil, errNoLeader
}

func (n *node) Note(_ context.Context, b channel.Bucket, notes []byte) error {
	if leader := n.w.leader(b); leader != nil {
		return leader.owner.ServeNotes(notes)
	}
	return errNoLeader
}

func (n *node) Move(ctx context.Context, b channel.Bucket, move engine.Move) error {
	if leader := n.w.leader(b); leader != nil {
		return leader.judge.Moved(ctx, move)
	}
	return errNoLeader
}

// order is an order of a channel in a range, whose URL has a number.
func (w *world) order(r channel.Range, number, width int) engine.Order {
	for i := number * 1000; ; i++ {
		url := fmt.Sprintf("https://example.com/%d", i)
		if id := channel.IDOf(url); r.Has(id.Bucket()) {
			return engine.Order{Channel: id, Incarnation: 1, URL: url, Rate: overlay.Rate{Polls: uint32(2 * width), Intervals: 1}, Width: width}
		}
	}
}

// lead has a node order channels of a range in a term, as the primary owner does.
func (n *node) lead(r channel.Range, term uint64, orders ...engine.Order) {
	for _, order := range orders {
		n.judge.know(order)
	}
	n.owner.Begin(r, term)
	n.owner.Order(orders...)
	n.owner.Complete(r)
}

// wedgeOf returns the nodes whose engines poll a channel, by rank; "" where none does.
func (w *world) wedgeOf(id channel.ID) []string {
	w.Helper()
	var by []string
	for _, n := range w.nodes {
		order, ordered := n.engine.order(id)
		if !ordered || !n.alive {
			continue
		}
		for len(by) < order.Width {
			by = append(by, "")
		}
		if len(by) != order.Width || by[order.Rank] != "" {
			w.Fatalf("%s is rank %d of %d of channel %s, beside %v", n.name, order.Rank, order.Width, id, by)
		}
		by[order.Rank] = n.name
	}
	return by
}

// wantWidth wants as many pollers of a channel, of different ranks.
func (w *world) wantWidth(id channel.ID, width int) []string {
	w.Helper()
	by := w.wedgeOf(id)
	if len(by) != width || slices.Contains(by, "") {
		w.Fatalf("channel %s is polled by %q, want %d nodes", id, by, width)
	}
	return by
}

// fakeEngine remembers what it is told.
type fakeEngine struct {
	mu       sync.Mutex
	orders   map[channel.ID]engine.Order
	ordered  int // orders so far
	news     []engine.News
	contents map[deltas.Hash]*deltas.Core
	held     map[channel.ID]engine.News
	spares   []engine.Spare
}

func (e *fakeEngine) order(id channel.ID) (engine.Order, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	order, ordered := e.orders[id]
	return order, ordered
}

func (e *fakeEngine) orderedSoFar() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ordered
}

func (e *fakeEngine) Order(orders ...engine.Order) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, order := range orders {
		e.orders[order.Channel] = order
		e.ordered++
	}
}

func (e *fakeEngine) Repace(paces ...engine.Pace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, pace := range paces {
		if order, ordered := e.orders[pace.Channel]; ordered && order.Incarnation == pace.Incarnation {
			order.Rate, order.Width, order.Rank = pace.Rate, pace.Width, pace.Rank
			e.orders[pace.Channel] = order
		}
	}
}

func (e *fakeEngine) Drop(ids ...channel.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		delete(e.orders, id)
	}
}

func (e *fakeEngine) Learn(news engine.News) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.news = append(e.news, news)
	if news.Content != nil {
		e.held[news.Channel] = news
	}
}

func (e *fakeEngine) Spare(spare engine.Spare) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spares = append(e.spares, spare)
}

func (e *fakeEngine) spared() []engine.Spare {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.spares)
}

// Lacks implements [Engine]: what was learned with its content is held.
func (e *fakeEngine) Lacks(id channel.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	order, ordered := e.orders[id]
	return ordered && order.Version > 0 && e.held[id].Hash != order.Hash
}

func (e *fakeEngine) Held(id channel.ID) (engine.News, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	news, ok := e.held[id]
	return news, ok
}

func (e *fakeEngine) hold(news engine.News) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[news.Channel] = news
}

func (e *fakeEngine) learned() []engine.News {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.news)
}

func (e *fakeEngine) Ordered(r channel.Range) (paces []engine.Pace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, order := range e.orders {
		if r.Has(id.Bucket()) {
			paces = append(paces, engine.Pace{Channel: id, Incarnation: order.Incarnation, Rate: order.Rate, Width: order.Width, Rank: order.Rank})
		}
	}
	return paces
}

func (e *fakeEngine) Stats(id channel.ID) (engine.ChannelStats, bool) {
	order, ordered := e.order(id)
	return engine.ChannelStats{SizeBytes: int64(order.Rate.Polls)}, ordered
}

func (e *fakeEngine) Content(_ channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.contents[hash], nil
}

// fakeShelf keeps values in memory.
type fakeShelf struct {
	mu sync.Mutex
	of map[channel.ID][]byte
}

func (s *fakeShelf) Put(id channel.ID, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[id] = value
}

func (s *fakeShelf) Get(id channel.ID) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}

func (s *fakeShelf) Remove(ids ...channel.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.of, id)
	}
}

func (s *fakeShelf) Clear(r channel.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(id channel.ID, _ []byte) bool { return r.Has(id.Bucket()) })
}

// fakePrimary makes a version of whatever is reported on a current base.
type fakePrimary struct {
	node *node

	mu       sync.Mutex
	channels map[channel.ID]channel.Channel
	orders   map[channel.ID]engine.Order
	updates  map[channel.ID][]channel.Update
	reports  []engine.Report
	notes    []string
	moves    []engine.Move
	again    int
	busy     bool // with earlier orders: those of OrderAgain are to come much later
}

func (p *fakePrimary) know(order engine.Order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channels == nil {
		p.channels, p.orders = make(map[channel.ID]channel.Channel), make(map[channel.ID]engine.Order)
		p.updates = make(map[channel.ID][]channel.Update)
	}
	p.orders[order.Channel] = order
	if _, known := p.channels[order.Channel]; !known {
		p.channels[order.Channel] = channel.Channel{ID: order.Channel, Incarnation: order.Incarnation, URL: order.URL, Version: order.Version, Hash: order.Hash}
	}
}

// reorder has a channel ordered otherwise from the next time on.
func (p *fakePrimary) reorder(order engine.Order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders[order.Channel] = order
}

// OrderAgain orders what is known, as the primary owner does a little later: what has another rate
// since at once, which may be any channel, then all from the beginning.
func (p *fakePrimary) OrderAgain(r channel.Range) {
	p.mu.Lock()
	p.again++
	orders, busy := slices.Collect(maps.Values(p.orders)), p.busy
	p.mu.Unlock()
	if busy {
		return
	}
	go func() {
		for _, one := range p.node.w.ranges {
			if !r.Has(one.From) {
				continue
			}
			p.node.owner.mu.Lock()
			l := p.node.owner.mu.led.At(one.From)
			p.node.owner.mu.Unlock()
			if l == nil {
				continue
			}
			order := func() {
				for _, order := range orders {
					if one.Has(order.Channel.Bucket()) {
						p.node.owner.Order(order)
					}
				}
			}
			order()
			p.node.owner.Begin(one, l.term)
			order()
			p.node.owner.Complete(one)
		}
	}()
}

func (p *fakePrimary) Report(_ context.Context, report engine.Report) (engine.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, report)
	ch, known := p.channels[report.Channel]
	if !known || ch.Incarnation != report.Incarnation {
		return engine.Answer{Ended: true}, nil
	}
	if report.BaseVersion == ch.Version && report.Core != nil && report.Core.Hash != ch.Hash {
		ch.Version++
		ch.Hash = report.Core.Hash
		update := channel.Update{Channel: ch.ID, Version: ch.Version}
		if report.Base != nil {
			update.Patch = deltas.MakeDelta(report.Base, report.Core)
		}
		p.channels[ch.ID], p.updates[ch.ID] = ch, append(p.updates[ch.ID], update)
	}
	return engine.Answer{Version: ch.Version, Hash: ch.Hash}, nil
}

func (p *fakePrimary) orderedAgain() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.again
}

func (p *fakePrimary) reported() []engine.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reports)
}

func (p *fakePrimary) Leased(channel.ID) bool { return true }

func (p *fakePrimary) Bound(id channel.ID, incarnation uint64, atLeast time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprint("bound ", id, incarnation, atLeast))
}

func (p *fakePrimary) Sized(id channel.ID, incarnation uint64, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprint("size ", id, incarnation, bytes))
}

func (p *fakePrimary) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.notes))
}

func (p *fakePrimary) Moved(_ context.Context, move engine.Move) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves = append(p.moves, move)
	return nil
}

func (p *fakePrimary) Channel(id channel.ID) (channel.Channel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ch, known := p.channels[id]; known {
		return ch, nil
	}
	return channel.Channel{}, channel.ErrNotFound
}

func (p *fakePrimary) Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []channel.Update
	for _, update := range p.updates[id] {
		if update.Version > after && len(found) < limit {
			found = append(found, update)
		}
	}
	return found, nil, nil
}

// page is the content of a page with some lines.
func page(t *testing.T, lines int) *deltas.Core {
	t.Helper()
	body := "<html><title>page</title><body>"
	for i := range lines {
		body += fmt.Sprintf("<p>This is what line number %d of the page says.</p>", i)
	}
	core, err := deltas.Extract(deltas.Document{Body: []byte(body), ContentType: "text/html", URL: "https://example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// seated returns the nodes that an owner has chosen for a channel, by rank.
func (o *Owner) seated(id channel.ID) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.seats.get(id)
}
