// Package corona is a publish-subscribe system for the part of the Web that only
// answers when asked: it polls the URLs that people subscribe to, notices what
// really changed, and delivers the difference.
//
// A [Node] is the whole of it in one process, without HTTP:
//
//	node, err := corona.Open(ctx, corona.Config{Data: "corona-data"})
//	if err != nil { … }
//	defer node.Close()
//	for update, err := range node.Watch(ctx, "https://example.com/feed") { … }
//
// Command corona serves a node's HTTP API and web page; docs/architecture.md has
// the picture.
package corona

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/internal/part"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/notify"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
	"github.com/seed-91e7e7c1/corona/wedge"
	"github.com/seed-91e7e7c1/corona/wedge/hosts"
)

// Node is a running node: a cluster of one. It is safe for concurrent use.
type Node struct {
	config   Config
	metrics  *registered
	dir      *datadir.Dir
	volume   *volume.Volume
	company  *company // nil: a node alone
	store    *ownership.Store
	fetcher  *fetcher.Fetcher
	owner    *primary.Owner
	engine   *engine.Engine
	wedge    *wedge.Owner  // nil: a node alone
	poller   *wedge.Poller // nil: a node alone
	hosts    *hosts.Node   // nil: a node alone
	notifier *notify.Notifier
	calls    nodeCalls

	stop      context.CancelFunc
	running   sync.WaitGroup
	unwatch   context.CancelFunc // ends watching, which outlasts what is watched
	watching  sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

// Open starts a node on its data directory, which is made when there is none.
// It returns when what was acknowledged before is served again; polling has begun
// by then. The caller closes the node.
//
// Errors wrap [ErrConfig], also for a directory that is not a node's or has another
// number of ranges, or say who else has the directory, or that a newer program wrote
// it: then nothing in it was touched.
func Open(ctx context.Context, config Config) (*Node, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	n := &Node{config: config, metrics: &registered{Registerer: config.Registry}}
	if err := n.open(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Name returns the node's name.
func (n *Node) Name() string { return n.dir.Identity.Name }

// open builds the node from the disk up. What it leaves half done, Close undoes.
func (n *Node) open(ctx context.Context) (err error) {
	c := n.config
	if err := n.checkData(); err != nil {
		return err
	}
	if n.dir, err = datadir.Open(c.Data, c.Name, c.Listen, c.Now()); err != nil {
		return err
	}
	if n.volume, err = n.openVolume(); err != nil {
		return err
	}
	n.watch()
	if n.company, err = n.openCompany(); err != nil {
		return err
	}
	events := &observer{volume: n.volume}
	part.Do(ctx, part.Commit, func(ctx context.Context) { err = n.openStore(ctx, events) })
	if err != nil {
		return err
	}
	if n.fetcher, err = n.newFetcher(); err != nil {
		return fmt.Errorf("open fetcher: %w", err)
	}
	n.owner = primary.New(n.primaryConfig(events), n.store, n.metrics)
	if err = n.openEngine(); err != nil {
		return err
	}
	if n.notifier, err = notify.New(n.notifyConfig(), n.notifyStores(), n.metrics); err != nil {
		return fmt.Errorf("open notifier: %w", err)
	}
	n.calls = n.newCalls()
	events.connect(parties{n.owner, n.notifier, n.hosts})
	return n.start()
}

// checkData refuses what cannot be this node's data, or is a newer program's, before
// anything is written.
func (n *Node) checkData() error {
	err := datadir.Check(n.config.Data)
	if errors.Is(err, datadir.ErrForeign) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return cmp.Or(err,
		ownership.CheckFormat(filepath.Join(n.config.Data, rangesFolder)),
		engine.CheckFormat(filepath.Join(n.config.Data, cacheFolder)),
	)
}

// watch looks after the disk from before the first store is opened until after the
// last is closed.
func (n *Node) watch() {
	ctx, unwatch := context.WithCancel(context.Background())
	n.unwatch = unwatch
	n.watching.Go(func() { n.volume.Run(ctx) })
}

// start runs everything that runs.
func (n *Node) start() error {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.running.Go(func() { part.Do(ctx, part.Deliver, n.notifier.Run) })
	n.running.Go(func() { n.owner.Run(ctx) })
	n.running.Go(func() { part.Do(ctx, part.Poll, n.poll) })
	return n.startOrders(ctx)
}

func (n *Node) poll(ctx context.Context) {
	if err := n.engine.Run(ctx); err != nil {
		n.config.Fatal(fmt.Errorf("poll: %w", err))
	}
}

// Close stops the node: polling and delivery first, then what they wrote to. It
// returns when all has stopped, and may be called more than once.
func (n *Node) Close() error {
	n.closeOnce.Do(func() { n.closeErr = n.close() })
	return n.closeErr
}

// giveUpAfter is how long a node that stops waits for a full disk.
const giveUpAfter = 3 * time.Second

func (n *Node) close() error {
	if n.volume != nil {
		defer time.AfterFunc(giveUpAfter, n.volume.GiveUp).Stop()
	}
	if n.stop != nil {
		n.stop()
	}
	n.running.Wait()
	n.metrics.unregister() // they ask what is about to close
	var errs []error
	if n.engine != nil {
		errs = append(errs, n.engine.Close())
	}
	if n.fetcher != nil {
		n.fetcher.Close()
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.company != nil {
		errs = append(errs, n.company.close())
	}
	if n.unwatch != nil {
		n.unwatch()
		n.watching.Wait()
		n.volume.Close()
	}
	if n.dir != nil {
		errs = append(errs, n.dir.Close())
	}
	return errors.Join(errs...)
}
