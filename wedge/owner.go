package wedge

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
)

// Primary decides about the channels that this node owns; see [primary.Owner].
type Primary interface {
	engine.Owner
	// OrderAgain has all channels of the ranges that this node leads within r ordered
	// once more.
	OrderAgain(r channel.Range)
}

// Store is the replicated state of channels that this node owns.
type Store interface {
	Channel(id channel.ID) (channel.Channel, error)
	Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error)
}

// Owner chooses the pollers of the channels that this node owns and sends them their
// orders: it is the [primary.Poller] of a node of several. It is safe for concurrent
// use.
type Owner struct {
	config  Config
	primary Primary
	local   *Poller
	reports reportServer
	metrics *metrics

	mu struct {
		sync.Mutex // taken after the primary owner's own, before the local poller's
		members    membership
		led        channel.ByRange[*lead]
		begins     uint64 // how often ranges were ordered from the beginning
		seats      seats
		boxes      map[string]*outbox // of other nodes
		stopped    bool
	}
	ctx     context.Context // of what runs; ended by stop
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// lead is the time in which this node orders a range.
type lead struct {
	channel.Range
	term     uint64
	begins   uint64  // the number of the latest time that all its channels were ordered from the beginning
	partial  bool    // not all of them have been ordered since: who polls the others is not known
	roster   *roster // the nodes that have a session: those that polled then, and have not gone since
	sequence uint64  // of the last batch to this node's own poller
}

// first returns the sequence before the first batch of the latest beginning: higher than
// that of any batch before it, to whichever poller.
func (l *lead) first() uint64 { return l.begins << 32 }

// NewOwner returns the owner's side of a node. Members returns the nodes that may poll
// as this one sees them, and need not hold itself.
func NewOwner(config Config, primary Primary, store Store, local *Poller, members func() []Member) *Owner {
	config = config.withDefaults()
	config.metrics = local.metrics
	o := &Owner{config: config, primary: primary, local: local, metrics: local.metrics}
	o.reports = reportServer{self: config.Self, primary: primary, store: store, local: local, bases: local.holdings.bases, leads: o.leads, tell: o.tell, tellSpare: o.tellSpare}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	o.mu.members = membership{self: Member{ID: config.Self, Egress: config.Egress}, stands: config.Stands, around: members}
	o.mu.seats, o.mu.boxes = newSeats(), make(map[string]*outbox)
	local.setOwner(o)
	return o
}

// ServeReport answers what another node's poller has seen. It asks for content only if
// that is not the current version's.
func (o *Owner) ServeReport(ctx context.Context, report []byte) (answer []byte, err error) {
	return o.reports.serve(ctx, report)
}

// ServeNotes accepts what another node's poller says of channels that this node owns.
func (o *Owner) ServeNotes(notes []byte) error { return o.reports.serveNotes(notes) }

// Pollers returns how many egress labels poll, at least 1.
func (o *Owner) Pollers() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.members.roster().labels)
}

// Run keeps the leases of orders alive and follows the membership, until ctx is done.
func (o *Owner) Run(ctx context.Context) {
	renew := time.NewTicker(o.config.Lease / renewals)
	defer renew.Stop()
	look := time.NewTicker(o.config.Stands / 10)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			o.stop()
			return
		case <-renew.C:
			o.renew()
		case <-look.C:
			if o.follow(time.Now()) {
				o.primary.OrderAgain(allBuckets)
			}
		}
	}
}

var allBuckets = channel.Range{To: channel.Buckets - 1}

// follow adopts other members once they have been seen for long enough, and reports
// whether it has.
func (o *Owner) follow(now time.Time) bool {
	seen := o.mu.members.look()
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.mu.members.adopted
	if !o.mu.members.follow(seen, now) {
		return false
	}
	adopted := o.mu.members.adopted
	o.config.Logger.Info("other nodes poll from now on", "before", before.members, "now", adopted.members)
	o.metrics.moved.Inc()
	for node, box := range o.mu.boxes {
		if !adopted.has(node) {
			box.dismiss()
			delete(o.mu.boxes, node)
		}
	}
	for _, l := range o.mu.led.All() { // until they begin again, with those that have come
		l.roster = l.roster.within(adopted)
	}
	return true
}

func (o *Owner) stop() {
	o.mu.Lock()
	o.mu.stopped = true
	o.cancel()
	o.mu.Unlock()
	o.running.Wait()
}

// renew renews the leases of all ranges that this node orders. Those whose orders its own poller
// has lost are ordered once more: the poller lapses when the process was stopped for a lease.
func (o *Owner) renew() {
	for _, r := range o.renewAll() {
		o.primary.OrderAgain(r)
	}
}

// renewAll returns the ranges whose orders this node's own poller has lost.
func (o *Owner) renewAll() (lost []channel.Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r, l := range o.mu.led.All() {
		if o.local.renew(l.session(l.sequence)) == again {
			lost = append(lost, r)
		}
	}
	for _, box := range o.mu.boxes {
		box.renew()
	}
	return lost
}

func (l *lead) session(sequence uint64) Session {
	return Session{Range: l.Range, Term: l.term, Sequence: sequence}
}

// Begin implements [primary.Poller].
func (o *Owner) Begin(r channel.Range, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.mu.led.At(r.From)
	if l == nil || l.term != term {
		l = &lead{Range: r, term: term}
		o.mu.led.Set(r, l)
	}
	o.mu.begins++ // of all ranges: one that was split begins again in the same term
	l.begins = o.mu.begins
	l.sequence, l.partial, l.roster = l.first(), true, o.mu.members.roster()
	for _, m := range l.roster.members {
		if m.ID != o.config.Self {
			o.box(m.ID).begin(l)
		}
	}
	o.toSelf(l, batch{begin: true})
}

// Complete implements [primary.Poller].
func (o *Owner) Complete(r channel.Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.mu.led.At(r.From)
	if l == nil {
		return
	}
	l.partial = false
	for _, box := range o.mu.boxes {
		box.complete(r)
	}
	o.toSelf(l, batch{complete: true})
}

// End implements [primary.Poller]: pollers go on by what was ordered until the next owner
// orders otherwise, or until the lease is over.
func (o *Owner) End(r channel.Range) {
	defer o.reports.bases.shelf.Clear(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.led.Remove(r)
	for _, box := range o.mu.boxes {
		box.end(r)
	}
	o.mu.seats.forget(r)
}

// Wait implements [primary.Poller].
func (o *Owner) Wait() {
	deadline := time.Now().Add(longestWait)
	o.mu.Lock()
	boxes := make([]*outbox, 0, len(o.mu.boxes))
	for _, box := range o.mu.boxes {
		boxes = append(boxes, box)
	}
	o.mu.Unlock()
	for _, box := range boxes {
		box.wait(deadline)
	}
}

// longestWait is how long a poller that does not answer holds up the orders of others.
const longestWait = 10 * time.Second

// box returns what waits for another node. o.mu is held.
func (o *Owner) box(node string) *outbox {
	box := o.mu.boxes[node]
	if box == nil {
		box = newOutbox(o.ctx, node, o.config, o.primary.OrderAgain)
		o.mu.boxes[node] = box
		if !o.mu.stopped {
			o.running.Go(box.run)
		}
	}
	return box
}

// leads reports whether this node owns a channel.
func (o *Owner) leads(id channel.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.led.At(id.Bucket()) != nil
}
