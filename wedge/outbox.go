package wedge

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// outbox is what one other node is to be told: per range what waits, and the batch that
// is on its way. Batches of a range go one by one, each until it is answered, so that
// none is obeyed before another that was made first.
type outbox struct {
	node   string
	config Config
	again  func(r channel.Range) // has a range ordered once more

	ctx  context.Context
	stop context.CancelFunc
	wake chan struct{}

	mu struct {
		sync.Mutex
		sessions map[uint32]*session
		waiting  int           // items of all
		room     chan struct{} // closed when few are waiting; nil: there is room
		renewal  bool          // leases are to be renewed
	}
}

// session is what one node is told of a range in one term.
type session struct {
	Session
	items           []any
	sent            []any                       // of the batch that is on its way
	begin, complete bool                        // of the next batch, and behind the last item that waits
	lost            bool                        // the poller has lost orders, or obeys another: nothing is sent until the next beginning
	untold          map[channel.ID]engine.Order // orders to come to poll a channel that the node was not told in a session before
}

// note takes note of the orders to come to poll a channel among items that the node is not told, or
// perhaps not, and that no later item takes back. Only these say who polled it before: the owner
// takes the node for its poller since.
func (s *session) note(items []any) {
	for _, item := range items {
		switch item := item.(type) {
		case engine.Order:
			if item.Holder != "" || !item.Others.IsZero() {
				s.untold[item.Channel] = item
			}
		case channel.ID:
			delete(s.untold, item)
		}
	}
}

// left ends a session: what was not answered is noted, and returned for the next one.
func (s *session) left() map[channel.ID]engine.Order {
	if s.untold == nil {
		s.untold = make(map[channel.ID]engine.Order)
	}
	s.note(s.sent)
	s.note(s.items)
	s.sent, s.items = nil, nil
	return s.untold
}

// newOutbox returns an outbox that is closed when ctx ends, or by stop.
func newOutbox(ctx context.Context, node string, config Config, again func(r channel.Range)) *outbox {
	b := &outbox{node: node, config: config, again: again, wake: make(chan struct{}, 1)}
	b.ctx, b.stop = context.WithCancel(ctx)
	b.mu.sessions = make(map[uint32]*session)
	return b
}

// dismiss takes back all that the node was ordered, and closes the outbox a while later. A node
// that is drained, or comes back, would go on by its orders beside those that follow it.
func (b *outbox) dismiss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, s := range b.mu.sessions {
		b.took(len(s.items))
		if s.lost {
			delete(b.mu.sessions, id)
			continue
		}
		b.mu.sessions[id] = &session{Session: s.Session, begin: true, complete: true}
	}
	signal(b.wake)
	time.AfterFunc(dismissWithin, b.stop)
}

// dismissWithin is how long orders are tried to be taken back; the lease ends them, too.
const dismissWithin = 10 * time.Second

// begin has all channels of a range sent from the beginning.
func (b *outbox) begin(l *lead) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &session{Session: l.session(l.first()), begin: true}
	if old := b.mu.sessions[l.ID]; old != nil {
		b.took(len(old.items))
		s.untold = old.left()
	}
	b.mu.sessions[l.ID] = s
	signal(b.wake)
}

// complete says that all channels of a range have been added.
func (b *outbox) complete(r channel.Range) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.mu.sessions[r.ID]; s != nil && !s.lost {
		s.complete, s.untold = true, nil
		signal(b.wake)
	}
}

// end forgets what waits of a range.
func (b *outbox) end(r channel.Range) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.mu.sessions[r.ID]; s != nil {
		b.took(len(s.items))
		delete(b.mu.sessions, r.ID)
	}
}

// crowded is from how many items on senders of many wait.
const crowded = 20_000

func (b *outbox) add(r channel.Range, items []any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.mu.sessions[r.ID]
	if s == nil {
		return
	}
	if s.lost { // all is sent at the next beginning
		s.note(items)
		return
	}
	for _, item := range items {
		s.items = append(s.items, s.told(item))
	}
	if b.mu.waiting += len(items); b.mu.waiting >= crowded && b.mu.room == nil {
		b.mu.room = make(chan struct{})
	}
	signal(b.wake)
}

// told returns an item as the node is to be told it: an order to go on polling a channel that the
// node was never told to come to poll is the order to come.
func (s *session) told(item any) any {
	order, ok := item.(engine.Order)
	if !ok || order.Holder != "" {
		return item
	}
	if before, untold := s.untold[order.Channel]; untold {
		order.Holder, order.Others = before.Holder, before.Others
	}
	return order
}

// took counts items that wait no more. b.mu is held.
func (b *outbox) took(n int) {
	if b.mu.waiting -= n; b.mu.waiting < crowded && b.mu.room != nil {
		close(b.mu.room)
		b.mu.room = nil
	}
}

// wait returns when few items wait, or at a time.
func (b *outbox) wait(until time.Time) {
	b.mu.Lock()
	room := b.mu.room
	b.mu.Unlock()
	if room == nil {
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-room:
	case <-timer.C:
	case <-b.ctx.Done():
	}
}

func (b *outbox) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.renewal = true
	signal(b.wake)
}

// run sends what waits until the outbox is closed.
func (b *outbox) run() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.wake:
		}
		for b.sendOne() {
		}
	}
}

// sendOne sends the leases, or a batch, and reports whether there may be more. Leases do not wait
// behind batches: where all ranges are ordered again, the last batches are sent long after the first.
func (b *outbox) sendOne() bool {
	if leases, sent := b.leases(); leases != nil {
		// What is lost of leases comes again with the next ones.
		reply, err := b.call(&wire.Request{Of: &wire.Request_Leases{Leases: leases}})
		if err == nil {
			b.heed(reply, sent)
		}
		return b.ctx.Err() == nil
	}
	if s, out := b.next(); s != nil {
		b.deliver(s, out)
		return b.ctx.Err() == nil
	}
	return false
}

// next takes the next batch.
func (b *outbox) next() (*session, batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.mu.sessions {
		if s.lost || len(s.items) == 0 && !s.begin && !s.complete {
			continue
		}
		n := fit(s.items)
		s.Sequence++
		out := batch{Session: s.Session, begin: s.begin, items: s.items[:n:n]}
		s.items, s.sent, s.begin = s.items[n:], out.items, false
		if len(s.items) == 0 {
			out.complete, s.complete, s.items = s.complete, false, nil
		}
		b.took(n)
		return s, out
	}
	return nil, batch{}
}

// The pauses between attempts to send a batch, and the shortest time between two log lines on one
// that is not taken.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	logEvery   = time.Minute
)

// deliver sends a batch until it is answered, or of no use any more.
func (b *outbox) deliver(s *session, out batch) {
	request := &wire.Request{Of: &wire.Request_Batch{Batch: out.encode()}}
	logged := time.Now()
	for pause := firstPause; b.stands(s); pause = min(2*pause, lastPause) {
		reply, err := b.call(request)
		if err == nil {
			b.heed(reply, map[uint32]*session{s.ID: s})
			b.arrived(s)
			return
		}
		if now := time.Now(); now.Sub(logged) >= logEvery {
			b.config.Logger.Warn("a poller does not take its orders", "node", b.node, "range", s.ID, "error", err)
			logged = now
		}
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// arrived takes note that the batch that was on its way was answered.
func (b *outbox) arrived(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.sent = nil
}

// stands reports whether a session is still the one of its range.
func (b *outbox) stands(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ctx.Err() == nil && b.mu.sessions[s.ID] == s
}

// callWithin bounds one attempt to send something.
const callWithin = 5 * time.Second

func (b *outbox) call(request *wire.Request) (*wire.Reply, error) {
	ctx, cancel := context.WithTimeout(b.ctx, callWithin)
	defer cancel()
	return callNode(ctx, b.config, b.node, request)
}

func callNode(ctx context.Context, config Config, node string, request *wire.Request) (*wire.Reply, error) {
	bytes, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := config.Call(ctx, node, bytes)
	config.metrics.request(request, len(bytes), len(answer))
	if err != nil {
		return nil, err
	}
	reply := new(wire.Reply)
	return reply, proto.Unmarshal(answer, reply)
}

// leases are of all sessions that have begun, when they are to be renewed; sent holds these sessions
// by range.
func (b *outbox) leases() (leases *wire.Leases, sent map[uint32]*session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.mu.renewal {
		return nil, nil
	}
	b.mu.renewal = false
	leases, sent = new(wire.Leases), make(map[uint32]*session)
	for id, s := range b.mu.sessions {
		if !s.lost && !s.begin {
			leases.Sessions, sent[id] = append(leases.Sessions, s.Session.encode()), s
		}
	}
	return leases, sent
}

// heed has ranges ordered once more whose orders the poller has lost, and sends nothing
// more of those that another node orders. The reply is to the sessions that were sent, by range:
// it says nothing of one that has begun meanwhile.
func (b *outbox) heed(reply *wire.Reply, sent map[uint32]*session) {
	for _, id := range reply.GetOlder() {
		b.lose(sent[id])
	}
	for _, id := range reply.GetAgain() {
		if s := sent[id]; b.lose(s) {
			b.again(s.Range)
		}
	}
}

// lose has nothing more sent in a session, and reports whether it is still the one of its range.
func (b *outbox) lose(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s == nil || b.mu.sessions[s.ID] != s {
		return false
	}
	b.took(len(s.items))
	s.left()
	s.lost, s.begin, s.complete = true, false, false
	return true
}
