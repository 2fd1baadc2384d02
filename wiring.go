package corona

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/descriptors"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/notify"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
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
		Replicas:    1,
		RetainBytes: n.config.RetainBytes,
		Now:         n.config.Now,
		Observer:    events,
		Fatal:       n.config.Fatal,
		Volume:      n.volume,
		Logger:      n.config.Logger,
		Registerer:  n.metrics,
	})
	if errors.Is(err, ownership.ErrRanges) {
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

func (n *Node) primaryConfig() primary.Config {
	return primary.Config{
		Interval:    n.config.Interval,
		Floor:       n.config.Floor,
		Policy:      n.config.Policy,
		Ladder:      n.config.Ladder,
		Cost:        n.config.Cost,
		Target:      n.config.Target,
		Budget:      n.config.Budget,
		Maintenance: n.config.Maintenance,
		HostGap:     n.config.hostGap,
		Measure:     n.measure,
		Now:         n.config.Now,
		Logger:      n.config.Logger,
	}
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

func (n *Node) engineConfig() engine.Config {
	public, private := n.config.hostGaps()
	return engine.Config{
		Dir:            n.dir.Join(cacheFolder),
		Interval:       n.config.Interval,
		Floor:          n.config.Floor,
		HostParallel:   n.config.HostParallel,
		HostGap:        public,
		PrivateHostGap: private,
		Volume:         n.volume,
		Fatal:          n.config.Fatal,
		Logger:         n.config.Logger,
	}
}

func (n *Node) notifyConfig() notify.Config {
	return notify.Config{
		Webhook: webhook.Config{UserAgent: "Corona/" + n.config.Version, AllowPrivate: n.config.AllowPrivate},
		Stream:  stream.Config{Epoch: epoch(n.store.Cluster())},
		Logger:  n.config.Logger,
	}
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

// observer passes what a range has applied to those who act on it. Until they
// are connected they have read nothing yet that could go stale.
type observer struct {
	volume  *volume.Volume
	parties atomic.Pointer[parties]
}

type parties struct {
	owner    *primary.Owner
	notifier *notify.Notifier
}

func (o *observer) connect(owner *primary.Owner, notifier *notify.Notifier) {
	o.parties.Store(&parties{owner, notifier})
}

// ChannelChanged implements [ownership.Observer].
func (o *observer) ChannelChanged(ch channel.Channel, ended bool) {
	if p := o.parties.Load(); p != nil {
		p.owner.ChannelChanged(ch, ended)
		p.notifier.ChannelChanged(ch, ended)
	}
}

// Committed implements [ownership.Observer].
func (o *observer) Committed(update channel.Update) {
	if p := o.parties.Load(); p != nil {
		p.notifier.Committed(update)
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
