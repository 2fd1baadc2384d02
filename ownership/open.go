package ownership

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/founding"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Open opens the store in Config.Dir, founding a cluster of one in an empty
// directory, and returns when every range leads and has applied its log. The
// caller sees to it that no other process has the directory.
//
// With Config.Cluster the node is one of several: Open returns when the cluster is
// founded, or has taken this node in, and the replicas of this node run, whether its ranges
// have leaders or not. A directory of a node alone becomes that of the first of several.
//
// Its error is a [*datadir.FormatError], ErrForeign, ErrMode, ErrVersion, ErrRanges, ErrCorrupt, the context's cause, or
// a failure of the disk. Nothing is served from a damaged directory.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	have, err := checkFormat(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("ownership: %w", err)
	}
	cfg.unmarked = have < formatMarked
	tools := newTools(cfg, newMetrics(cfg.Registerer))
	meta, err := openMeta(filepath.Join(cfg.Dir, "meta"), cfg, tools)
	if err != nil {
		return nil, fmt.Errorf("ownership: %w", noCopy(err))
	}
	s := newStore(cfg, tools, meta)
	if err := s.open(ctx); err != nil {
		if s.net == nil || s.held.onlyCopy(s.known.Load()) {
			err = noCopy(err)
		}
		return nil, fmt.Errorf("ownership: %w", errors.Join(err, s.Close()))
	}
	s.run()
	return s, nil
}

// noCopy says of damage, which no other node can mend, what is left to do.
func noCopy(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("%w; no other node has a copy: restore a backup, into an empty directory", err)
	}
	return err
}

// newStore makes the parts of a store. Calls are known from here on; nothing runs.
func newStore(cfg Config, tools tools, meta *metaGroup) *Store {
	rt := &router{tools: tools}
	s := &Store{cfg: cfg, router: rt, meta: meta}
	rt.running, s.cancel = context.WithCancel(context.Background())
	var grace time.Duration
	if cfg.Cluster != nil {
		rt.repairs, grace = newRepairs(tools.metrics), cfg.Cluster.Grace
	}
	s.stores = &stores{router: rt, cfg: cfg}
	s.held = &held{stores: s.stores, notes: meta.store}
	s.writes = newWrites(rt, cfg.Now, cfg.Volume)
	s.feeds = newFeeds(rt)
	s.backups = newBackups(s.writes)
	s.views = newViewCalls(s)
	s.leadership = &leadership{router: rt, meta: meta, stores: s.stores}
	s.metaCalls = newMetaCalls(rt, meta, cfg.versions)
	s.survey = newSurvey(s.metaCalls)
	s.changes = newChanges(s.metaCalls, s.survey)
	s.recoveries = newRecoveries(s.changes, cfg.Now)
	s.turns = newTurns(s.metaCalls, cfg.Volume)
	s.compare = newComparer(s.changes)
	s.scrub = &scrubber{router: rt, interval: cfg.ScrubInterval, compare: s.compare}
	s.replicas = &replicas{
		metaCalls: s.metaCalls, stores: s.stores, held: s.held, turns: s.turns, compare: s.compare,
		occupancy: &occupancy{router: rt}, children: &children{router: rt, raftID: meta.raftID, stores: s.stores},
	}
	s.mend = &mender{changes: s.changes, leadership: s.leadership, held: s.held}
	s.place = &placer{metaCalls: s.metaCalls, replicas: s.replicas, mend: s.mend}
	s.ranges = newConfigurer(s.leadership)
	s.splits = newSplitter(s.changes, s.ranges, s.replicas)
	s.driver = newDriver(s.changes, s.ranges, s.splits, grace)
	return s
}

// run starts the loops.
func (s *Store) run() {
	loops := []func(context.Context){s.snapshots, s.sweep, s.scrub.run}
	if s.net != nil {
		loops = append(loops, s.balance, s.watchClocks, s.place.run, s.keepAsking, s.driver.run, s.mend.tell, s.compare.hash)
		s.ring() // replicas that could not be opened yet
	} else {
		loops = append(loops, s.splits.runAlone)
	}
	for _, loop := range loops {
		s.loops.Go(func() { loop(s.running) })
	}
}

func (s *Store) open(ctx context.Context) (err error) {
	table, err := s.found(ctx)
	if err != nil {
		return err
	}
	if have := tables.Born(table); s.cfg.Ranges != 0 && s.cfg.Ranges != have {
		return fmt.Errorf("%w: %s was made with %d, which cannot be changed to %d", ErrRanges, s.cfg.Dir, have, s.cfg.Ranges)
	}
	s.cluster = hex.EncodeToString(table.Cluster)
	born, err := s.meta.rangesBorn(table)
	if err != nil {
		return err
	}
	if err := s.held.openStores(s.meta.raftID, table, born); err != nil {
		return err
	}
	s.reads = &s.state.Reader
	if err := raiseFormat(s.cfg.Dir, s.version.Load()); err != nil {
		return err
	}
	if err := s.replicas.openAll(table, born); err != nil {
		return err
	}
	s.addGauges()
	if err := s.tools.metrics.register(); err != nil {
		return err
	}
	if err := s.replicas.start(); err != nil {
		return err
	}
	s.started.Store(true)
	if s.net != nil {
		s.net.join(table, s.cluster)
		if err := s.cfg.Cluster.Joined(s.cluster); err != nil {
			return fmt.Errorf("tell the others of the cluster: %w", err)
		}
		s.meta.record(table)
		for _, r := range s.inOrder() {
			if r.local() == nil {
				s.follow(r) // so that it is known up to where it is closed
			}
		}
	} else if err := s.awaitGroups(ctx); err != nil {
		return err
	} else if err := s.replicas.adoptAlone(ctx, table); err != nil {
		return err
	}
	if born {
		return nil
	}
	return s.meta.setRangesBorn(table)
}

// found returns the table of the cluster, which it founds if this node is of none.
func (s *Store) found(ctx context.Context) (table *wire.Meta, err error) {
	if s.cfg.Cluster == nil {
		if err := s.meta.start(loneSeat(s.meta.raftID), true); err != nil {
			return nil, err
		}
		return s.foundAlone(ctx)
	}
	cluster, id := s.cfg.Cluster, string(s.meta.raftID)
	self := &wire.Node{Id: id, Name: s.cfg.Node, Address: cluster.Address}
	if err := s.meta.grow(ctx, self, s.cfg.versions); err != nil {
		return nil, err
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	s.founding, err = founding.New(founding.Config{
		Self: self, Support: s.cfg.versions.Support(),
		Expect: cluster.Expect, Seen: cluster.Seen, Peers: s.net.peers, Kind: kindPromise, Record: s.meta.store,
		Decide: func(promises []*wire.Promise) *wire.Meta { return decide(s.cfg, promises, s.cfg.Now()) },
		Fits:   s.cfg.versions.Fits,
		Newest: s.known.Load, Admit: s.admitNode, Logger: s.tools.log,
	})
	if err != nil {
		return nil, err
	}
	s.net.serve(cluster.Listener, s.tools.fail)
	table, err = s.founding.Await(ctx)
	if err != nil {
		return nil, err
	}
	if table, err = s.meta.goOnRecovering(table); err != nil {
		return nil, err
	}
	seat, found, err := seatOf(s.net, metaRange, table.MetaReplicas, int(table.MetaVoters))
	if err == nil && !found {
		err = errors.New("the cluster has removed it; with an empty directory it joins as a new node, under the same name too")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: table of the cluster: node %s: %w", ErrForeign, s.meta.raftID, err)
	}
	founds := table.Revision == 0
	if !founds {
		table = s.hearTables(ctx, table)
		if err := s.meta.store.SetTable(table); err != nil {
			return nil, err
		}
	}
	s.known.Store(table)
	s.version.Store(tables.VersionOf(table))
	s.meta.fsm.changed = s.learn
	return table, s.meta.start(seat, founds)
}

// foundAlone is found of a cluster of one, which is always at the newest version that its
// program applies.
func (s *Store) foundAlone(ctx context.Context) (table *wire.Meta, err error) {
	if err := s.meta.await(ctx); err != nil {
		return nil, errors.Join(s.cfg.versions.Fits(s.meta.fsm.meta()), err)
	}
	if err := s.cfg.versions.Fits(s.meta.fsm.meta()); err != nil {
		return nil, err
	}
	if _, err = s.meta.birth(s.cfg, s.tools.log); err == nil {
		err = s.meta.raiseAlone(s.cfg.versions.Newest)
	}
	table = s.meta.fsm.meta()
	s.version.Store(tables.VersionOf(table))
	return table, err
}

// connect makes this node's end of the connections to others, with all that answers
// them.
func (s *Store) connect() (err error) {
	table, err := s.meta.store.Table()
	if err == nil && table != nil {
		err = s.cfg.versions.Fits(table)
	}
	if err != nil {
		return err
	}
	self := peer.Identity{Cluster: hex.EncodeToString(table.GetCluster()), Name: s.cfg.Node, ID: string(s.meta.raftID)}
	if s.net, err = newNetwork(s.cfg.Cluster, self, s.stalled); err != nil {
		return fmt.Errorf("connect to other nodes: %w", err)
	}
	s.terms = &confirmer{net: s.net, termOf: s.termOf}
	s.net.peers.Handle(kindPropose, s.servePropose)
	s.net.peers.Handle(kindCall, func(ctx context.Context, call peer.Call) ([]byte, error) {
		if call.Group == metaRange {
			return s.metaCalls.serve(ctx, call)
		}
		return s.serveCall(ctx, call)
	})
	s.net.peers.Handle(kindTerms, s.terms.serve)
	s.net.peers.HandleStream(kindBackup, s.serveCopy)
	return nil
}

// tellEvery is how often a start that takes long says how far it is.
const tellEvery = 2 * time.Second

// tellProgress says how far the start is until done is called, which waits for it.
func (s *Store) tellProgress() (done func()) {
	ctx, over := context.WithCancel(s.running)
	var telling sync.WaitGroup
	telling.Go(func() {
		every(ctx, tellEvery, func() {
			s.tools.log.Info("ranges replay their logs", "serving", s.serving(), "ranges", len(s.groups()), "replayed_bytes", s.Unsnapshotted())
		})
	})
	return func() { over(); telling.Wait() }
}

// awaitGroups waits until this node serves all its ranges.
func (s *Store) awaitGroups(ctx context.Context) error {
	defer s.tellProgress()()
	for _, g := range s.groups() {
		select {
		case <-g.ready:
		case <-ctx.Done():
			return fmt.Errorf("wait for range %d: %w", g.id, context.Cause(ctx))
		}
	}
	// Streams may have been told times of a clock that was set back since: no range
	// gives times before the newest of all ranges.
	newest := s.newest()
	for _, g := range s.groups() {
		g.clock.reach(newest + 1)
	}
	return nil
}
