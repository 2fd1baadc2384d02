package wedge

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
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
	store   Store
	local   *Poller
	members func() []Member
	bases   *contents
	metrics *metrics

	mu struct {
		sync.Mutex // taken after the primary owner's own, before the local poller's
		roster     *roster
		seen       *roster   // that is not adopted yet
		since      time.Time // when it was seen first, without another in between
		led        channel.ByRange[*lead]
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
	begins   uint64 // how often all its channels were ordered from the beginning
	partial  bool   // not all of them have been ordered since: who polls the others is not known
	sequence uint64 // of the last batch to this node's own poller
}

// first returns the sequence before the first batch of the latest beginning: higher than
// that of any batch before it, to whichever poller.
func (l *lead) first() uint64 { return l.begins << 32 }

// NewOwner returns the owner's side of a node. Members returns the nodes that may poll
// as this one sees them, and need not hold itself.
func NewOwner(config Config, primary Primary, store Store, local *Poller, members func() []Member) *Owner {
	o := &Owner{config: config.withDefaults(), primary: primary, store: store, local: local, members: members, bases: newContents(), metrics: local.metrics}
	o.config.metrics = local.metrics
	o.ctx, o.cancel = context.WithCancel(context.Background())
	o.mu.seats, o.mu.boxes = newSeats(), make(map[string]*outbox)
	local.setOwner(o)
	return o
}

// Pollers returns how many egress labels poll, at least 1.
func (o *Owner) Pollers() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.roster().labels)
}

// roster returns the nodes that poll: those that were seen first, until others have been
// seen for long enough. o.mu is held.
func (o *Owner) roster() *roster {
	if o.mu.roster == nil {
		o.mu.roster = o.look()
	}
	return o.mu.roster
}

func (o *Owner) look() *roster {
	members := o.members()
	if !slices.ContainsFunc(members, func(m Member) bool { return m.ID == o.config.Self }) {
		members = append(members, Member{ID: o.config.Self, Egress: o.config.Egress})
	}
	return newRoster(members)
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
	seen := o.look()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.roster == nil || seen.equal(o.mu.roster):
		o.mu.seen = nil
		return false
	case o.mu.seen == nil || !seen.equal(o.mu.seen):
		o.mu.seen, o.mu.since = seen, now
		return false
	case now.Sub(o.mu.since) < o.config.Stands:
		return false
	}
	o.config.Logger.Info("other nodes poll from now on", "before", o.mu.roster.members, "now", seen.members)
	o.metrics.moved.Inc()
	o.mu.roster, o.mu.seen = seen, nil
	for node, box := range o.mu.boxes {
		if !seen.has(node) {
			box.close()
			delete(o.mu.boxes, node)
		}
	}
	return true
}

func (o *Owner) stop() {
	o.mu.Lock()
	o.mu.stopped = true
	o.cancel()
	for _, box := range o.mu.boxes {
		box.close()
	}
	o.mu.Unlock()
	o.running.Wait()
}

// renew renews the leases of all ranges that this node orders.
func (o *Owner) renew() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.mu.led.All() {
		o.local.renew(l.session(l.sequence))
	}
	for _, box := range o.mu.boxes {
		box.renew()
	}
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
	l.begins++
	l.sequence, l.partial = l.first(), true
	for _, m := range o.roster().members {
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
		box = newOutbox(node, o.config, o.primary.OrderAgain)
		o.mu.boxes[node] = box
		if !o.mu.stopped {
			o.running.Go(box.run)
		}
	}
	return box
}

// parts are the items for each node, of one range.
type parts map[string][]any

// Order implements [primary.Poller].
func (o *Owner) Order(orders ...engine.Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for i := range orders {
		order := &orders[i]
		before := o.mu.seats.get(order.Channel)
		l, now := o.reseat(sent, order.Channel, order.Width)
		for rank, node := range now {
			told := *order
			told.Width, told.Rank = len(now), rank
			if !slices.Contains(before, node) {
				told.Holder = o.holder(node, before, now)
				if (l.partial || len(before) > 0) && o.roster().shares(node) {
					told.Others = time.Now().Add(o.config.handover())
				}
			}
			sent[l].add(node, told)
		}
	}
	o.send(sent)
}

// holder returns a node that may hold the current version of a channel which node comes
// to poll: one that polled it before, if possible one that goes on; else another of its
// pollers, of which nothing is known; else this node, whose owner keeps what it saw last.
// o.mu is held.
func (o *Owner) holder(node string, before, now []string) string {
	for _, nodes := range [][]string{before, now} {
		other := ""
		for _, one := range nodes {
			if one == node || !o.roster().has(one) {
				continue
			}
			if other == "" || slices.Contains(now, one) {
				other = one
			}
		}
		if other != "" {
			return other
		}
	}
	return o.config.Self
}

// sharesEgress reports that other nodes poll from this node's address.
func (o *Owner) sharesEgress() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.roster().shares(o.config.Self)
}

// Repace implements [primary.Poller].
func (o *Owner) Repace(paces ...engine.Pace) (whole []channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for _, pace := range paces {
		before := o.mu.seats.get(pace.Channel)
		l, now := o.reseat(sent, pace.Channel, pace.Width)
		for rank, node := range now {
			if !slices.Contains(before, node) {
				whole = append(whole, pace.Channel)
				break
			}
			pace.Width, pace.Rank = len(now), rank
			sent[l].add(node, pace)
		}
	}
	o.send(sent)
	return whole
}

// Drop implements [primary.Poller].
func (o *Owner) Drop(ids ...channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for _, id := range ids {
		o.reseat(sent, id, 0)
	}
	o.send(sent)
}

// reseat gives a channel as many pollers, and has those drop it that poll it no more. A
// channel of a range that this node does not order gets none. o.mu is held.
func (o *Owner) reseat(sent map[*lead]parts, id channel.ID, width int) (l *lead, now []string) {
	if l = o.mu.led.At(id.Bucket()); l == nil {
		return nil, nil
	}
	if sent[l] == nil {
		sent[l] = make(parts)
	}
	before := o.mu.seats.get(id)
	now = overlay.Reseat(before, o.roster().choose(id, width))
	for _, node := range before {
		if !slices.Contains(now, node) {
			sent[l].add(node, id)
		}
	}
	o.mu.seats.set(id, now)
	return l, now
}

func (p parts) add(node string, item any) { p[node] = append(p[node], item) }

// send passes items on. o.mu is held.
func (o *Owner) send(sent map[*lead]parts) {
	for l, parts := range sent {
		for node, items := range parts {
			switch box := o.mu.boxes[node]; {
			case node == o.config.Self:
				o.toSelf(l, batch{items: items})
			case box != nil:
				box.add(l.Range, items)
			}
		}
	}
}

// toSelf has this node's own poller obey. o.mu is held.
func (o *Owner) toSelf(l *lead, b batch) {
	l.sequence++
	b.Session = l.session(l.sequence)
	o.local.obey(b)
}

// tell tells the other pollers of a channel what one's report has led to.
func (o *Owner) tell(from string, report *engine.Report, answer engine.Answer) {
	if answer.Ended || answer.Version != report.BaseVersion && answer.Version != report.BaseVersion+1 {
		return
	}
	o.mu.Lock()
	alone := !slices.ContainsFunc(o.mu.seats.get(report.Channel), func(node string) bool { return node != from })
	o.mu.Unlock()
	if alone {
		return
	}
	news := engine.News{Channel: report.Channel, Incarnation: report.Incarnation, Version: answer.Version, Hash: answer.Hash, Held: answer.Held}
	if report.Base != nil && report.Core != nil && report.Core.Hash == answer.Hash {
		news.Base, news.Shown, news.Patch = report.Base.Hash, report.Shown, o.patch(report, answer)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.mu.led.At(report.Channel.Bucket())
	if l == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(o.mu.seats.get(report.Channel)), func(node string) bool { return node == from })
	o.tellAll(l, &news, others)
}

// patch returns what makes the content of a new version of the one before.
func (o *Owner) patch(report *engine.Report, answer engine.Answer) []byte {
	updates, gap, err := o.store.Updates(report.Channel, answer.Version-1, 1)
	if err == nil && gap == nil && len(updates) == 1 && updates[0].Version == answer.Version && updates[0].Patch != nil {
		return updates[0].Patch
	}
	return deltas.MakeDeltaFast(report.Base, report.Core)
}
