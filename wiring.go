package corona

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/internal/descriptors"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/notify"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
	"github.com/seed-91e7e7c1/corona/wedge/hosts"
)

// Folders of the data directory.
const (
	rangesFolder = "ranges"
	cacheFolder  = "cache"
)

// openStore blames the configuration for a number of ranges that the directory has
// not.
func (n *Node) openStore(ctx context.Context, events ownership.Observer) (err error) {
	n.store, err = ownership.Open(ctx, ownership.Config{
		Dir:         n.dir.Join(rangesFolder),
		Node:        n.Name(),
		Ranges:      n.config.Ranges,
		Replicas:    n.config.Cluster.Replicas,
		Cluster:     n.cluster(),
		RetainBytes: n.config.RetainBytes,
		Now:         n.config.Now,
		Observer:    events,
		Fatal:       n.config.Fatal,
		Volume:      n.volume,
		Logger:      n.config.Logger,
		Registerer:  n.metrics,
	})
	if errors.Is(err, ownership.ErrRanges) || errors.Is(err, ownership.ErrMode) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return fmt.Errorf("open ranges: %w", err)
	}
	if _, subscriptions := n.store.Counts(); subscriptions > 0 {
		n.volume.Protect()
	}
	return nil
}

// openVolume blames the configuration for a reserve that was asked for, and the disk
// for one that follows from its size.
func (n *Node) openVolume() (*volume.Volume, error) {
	v, err := volume.Open(volume.Config{
		Dir:        n.dir.Path,
		Reserve:    n.config.DiskReserve,
		Fatal:      n.config.Fatal,
		Logger:     n.config.Logger,
		Registerer: n.metrics,
	})
	if errors.Is(err, volume.ErrReserve) && n.config.DiskReserve != 0 {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return v, err
}

func (n *Node) primaryConfig(events *observer) primary.Config {
	c := primary.Config{
		Interval:    n.config.Interval,
		Floor:       n.config.Floor,
		Policy:      n.config.Policy,
		Ladder:      n.config.Ladder,
		Cost:        n.config.Cost,
		Target:      n.config.Target,
		Budget:      n.config.Budget,
		Maintenance: n.config.Maintenance,
		HostGap:     n.config.hostGap,
		Pollers:     n.pollers,
		Measure:     n.measure,
		Share:       events.share,
		Now:         n.config.Now,
		Logger:      n.config.Logger,
	}
	if n.company != nil {
		c.Tell, c.Ranges = n.company.tell, n.store.Table
		c.HostParts = func(owned []channel.Led) []float64 { return n.hosts.Parts(owned) } // it is made after the owner
	}
	return c
}

// measure says how the engine keeps up with what is planned, of which first polls and
// the steps of redirects are no part.
func (n *Node) measure() primary.Measured {
	load := n.engine.Load()
	return primary.Measured{
		PollsPerInterval: load.ByPlan * n.config.Interval.Seconds(),
		Behind:           load.Behind,
		Starting:         load.Starting,
	}
}

func (n *Node) newFetcher() (*fetcher.Fetcher, error) {
	limit, err := descriptors.Limit()
	if err != nil {
		return nil, err
	}
	return fetcher.New(fetcher.Config{
		Version:             n.config.Version,
		Contact:             n.config.Contact,
		AllowPrivate:        n.config.AllowPrivate,
		MaxConns:            pollConns(limit),
		MaxIdleConnDuration: idleConn(n.config.Interval),
	}, n.metrics)
}

// nodes is how many nodes may poll one host.
func (n *Node) nodes() int { return 1 + len(n.otherNodes()) }

func (n *Node) engineConfig() engine.Config {
	public, private := n.config.hostGaps()
	config := engine.Config{
		Dir:            n.dir.Join(cacheFolder),
		Interval:       n.config.Interval,
		Floor:          n.config.Floor,
		Nodes:          n.nodes(),
		Sizes:          n.config.Cost == honeycomb.Bytes,
		HostParallel:   n.config.HostParallel,
		HostGap:        public,
		PrivateHostGap: private,
		Volume:         n.volume,
		Fatal:          n.config.Fatal,
		Logger:         n.config.Logger,
	}
	if n.company != nil {
		config.Refused, config.Spared = n.hosts.Refused, n.poller.Spared
	}
	return config
}

func (n *Node) notifyConfig() notify.Config {
	config := notify.Config{
		Webhook: webhook.Config{UserAgent: "Corona/" + n.config.Version, AllowPrivate: n.config.AllowPrivate},
		Stream:  stream.Config{Epoch: epoch(n.store.Cluster()), Readings: 2 * runtime.GOMAXPROCS(0)},
		Logger:  n.config.Logger,
	}
	if n.company != nil {
		config.Stream.Ahead, config.Stream.Recheck, config.Stream.Readings = streamAhead, streamRecheck, 0
		config.Webhook.Ask = func(ctx context.Context, b channel.Bucket, questions []byte) ([]byte, error) {
			return n.calls.endpoints.At(ctx, b, questions)
		}
	}
	return config
}

// streamAhead is how far ahead of what this node knows a place may be that another node
// gave a stream.
const streamAhead = time.Minute

// streamRecheck is how often a node of several looks whether the subscriptions of its
// streams were deleted: it is told by the ranges that it leads alone.
const streamRecheck = 5 * time.Second

func (n *Node) notifyStores() notify.Stores {
	stores := notify.Stores{Webhooks: n.store, Streams: n.store}
	if n.company != nil {
		stores.Streams = streamStore{n.store}
	}
	return stores
}

// streamStore reads for streams what other nodes may have.
type streamStore struct{ *ownership.Store }

// Beginnings implements [stream.Store].
func (s streamStore) Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error) {
	return s.View().Beginnings(ctx, ids, exist)
}

// registered remembers what a node has registered, so that its metrics end with
// it and another may follow on the same registry.
type registered struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

// Register implements [prometheus.Registerer].
func (r *registered) Register(c prometheus.Collector) error {
	err := r.Registerer.Register(c)
	if err == nil {
		r.collectors = append(r.collectors, c)
	}
	return err
}

// MustRegister implements [prometheus.Registerer].
func (r *registered) MustRegister(collectors ...prometheus.Collector) {
	r.Registerer.MustRegister(collectors...)
	r.collectors = append(r.collectors, collectors...)
}

func (r *registered) unregister() {
	for _, c := range r.collectors {
		r.Unregister(c)
	}
	r.collectors = nil
}

// epoch is what stream cursors carry of the cluster's ID.
func epoch(cluster string) uint64 {
	id := sha1.Sum([]byte(cluster))
	return binary.BigEndian.Uint64(id[:])
}

// observer passes what ranges have applied to the parties that act on it, and which
// ranges this node leads. Changes that come before the parties are connected need not
// be told: the parties read a range when they hear that it is led.
type observer struct {
	volume  *volume.Volume
	parties atomic.Pointer[parties]
	buckets atomic.Int64 // of the ranges that are led

	mu struct {
		sync.Mutex                         // held while parties are told, so that they hear of each range in order
		led        channel.ByRange[uint64] // terms
	}
}

type parties struct {
	owner    *primary.Owner
	notifier *notify.Notifier
	hosts    *hosts.Node // nil: a node alone
}

// connect tells the parties which ranges are led, and all that follows.
func (o *observer) connect(p parties) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parties.Store(&p)
	for r, term := range o.mu.led.All() {
		p.gained(r, term)
	}
}

func (p *parties) gained(r channel.Range, term uint64) {
	p.owner.RangeGained(r, term)
	p.notifier.RangeGained(r, term)
	if p.hosts != nil {
		p.hosts.RangeGained(r)
	}
}

// RangeGained implements [ownership.Observer].
func (o *observer) RangeGained(r channel.Range, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buckets.Add(r.Buckets())
	o.mu.led.Set(r, term)
	if p := o.parties.Load(); p != nil {
		p.gained(r, term)
	}
}

// RangeLost implements [ownership.Observer].
func (o *observer) RangeLost(r channel.Range, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.led.Remove(r)
	o.buckets.Add(-r.Buckets())
	if p := o.parties.Load(); p != nil {
		p.owner.RangeLost(r, term)
		p.notifier.RangeLost(r, term)
		if p.hosts != nil {
			p.hosts.RangeLost(r)
		}
	}
}

// share returns the part of all channels that this node leads, as far as channels lie
// evenly over the buckets. It takes no lock, since the owner asks while it is told.
func (o *observer) share() float64 { return float64(o.buckets.Load()) / channel.Buckets }

// ChannelChanged implements [ownership.Observer].
func (o *observer) ChannelChanged(ch channel.Channel, ended bool) {
	if p := o.parties.Load(); p != nil {
		p.owner.ChannelChanged(ch, ended)
		p.notifier.ChannelChanged(ch, ended)
	}
}

// Committed implements [ownership.Observer].
func (o *observer) Committed(update channel.Update, webhooks uint64) {
	if p := o.parties.Load(); p != nil {
		p.notifier.Committed(update, webhooks)
	}
}

// Subscribed implements [ownership.Observer].
func (o *observer) Subscribed(s channel.Subscription) {
	o.volume.Protect()
	if p := o.parties.Load(); p != nil {
		p.notifier.Subscribed(s)
	}
}

// Unsubscribed implements [ownership.Observer].
func (o *observer) Unsubscribed(s channel.Subscription) {
	if p := o.parties.Load(); p != nil {
		p.notifier.Unsubscribed(s)
	}
}
