package ownership

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestChangeBeforeFounding: a leader of the meta group changes no table before the group has noted
// the founding, which would replace what was made of none. What is asked for meanwhile waits for it.
func TestChangeBeforeFounding(t *testing.T) {
	t.Parallel()
	w := newTown(t, 0, 34, nil)
	n := w.add("node-0")
	cfg, err := n.config(1)
	if err != nil {
		t.Fatal(err)
	}
	ofNone := &wire.MetaCommand{Change: &wire.MetaCommand_RaiseVersion{RaiseVersion: &wire.RaiseVersion{Version: 5}}}
	early, split := errors.New("not asked"), make(chan error, 1)
	ctx, cancel := soon()
	defer cancel()
	joined := cfg.Cluster.Joined
	cfg.Cluster.Joined = func(cluster string) error { // after it, the founding is noted
		s := n.store
		eventually(t, "a leader of the meta group", func() error {
			if !s.meta.leads() {
				return errors.New("none")
			}
			return nil
		})
		soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, early = s.change(soon, ofNone)
		go func() { split <- s.SplitRanges(ctx, 5) }()
		return joined(cluster)
	}
	n.openBy(t, ctx, cfg)
	if !errors.Is(early, context.DeadlineExceeded) {
		t.Errorf("a change of no table: %v", early)
	}
	if err := <-split; err != nil {
		t.Errorf("a change that was asked for before the founding: %v", err)
	}
	if _, err := n.store.change(ctx, ofNone); !errors.Is(err, ErrInvalid) {
		t.Errorf("a change of no table, after the founding: %v", err)
	}
	eventually(t, "the split", func() error {
		if ranges := len(n.store.Table()); ranges != 5 {
			return fmt.Errorf("%d ranges", ranges)
		}
		return nil
	})
}

// TestStepOfEarlierTerm: a driver that was suspended after it had decided on a step, and leads again
// after others have, does not take it.
func TestStepOfEarlierTerm(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 35, nil)
	w.version(newestVersion, w.nodes...)
	driver := w.driver()
	s := driver.store
	term := s.meta.raft().CurrentTerm()
	for _, to := range append(slices.Clone(w.nodes), driver) {
		w.leadMeta(to)
	}
	before := s.meta.fsm.meta().Ranges[0].Replicas
	step := placement.Step{Kind: placement.Prefer, Replica: placement.Replica{ID: before[1]}}
	ctx, cancel := soon()
	defer cancel()
	if err := s.driver.take(ctx, term, step); !errors.Is(err, ErrInvalid) {
		t.Errorf("a step of an earlier term: %v", err)
	}
	if after := s.meta.fsm.meta().Ranges[0].Replicas; !slices.Equal(after, before) {
		t.Errorf("replicas were %v, and are %v", before, after)
	}
	eventually(t, "a step of the driver's term", func() error {
		return s.driver.take(ctx, s.meta.raft().CurrentTerm(), step)
	})
	if after := s.meta.fsm.meta().Ranges[0].Replicas; after[0] != before[1] {
		t.Errorf("%s is preferred, want %s", after[0], before[1])
	}
}

// leadMeta waits until a node leads the meta group and changes the table, which others hand over
// to it.
func (w *town) leadMeta(n *townNode) {
	w.t.Helper()
	eventually(w.t, n.name+" leads the meta group", func() error {
		if n.store.meta.decides() {
			return nil
		}
		to := n.store.meta.seat().id
		for _, other := range w.nodes {
			if other != n && other.store.meta.leads() {
				return errors.Join(errors.New("another one led"), other.store.meta.raft().LeadershipTransferToServer(to, raftnet.Replica{Node: string(n.store.meta.raftID)}.Address()).Error())
			}
		}
		return errors.New("none leads, or it has not noted the founding")
	})
}

// openBy is Open in its parts: the node has its store while that opens.
func (n *townNode) openBy(t *testing.T, ctx context.Context, cfg Config) {
	t.Helper()
	cfg = cfg.withDefaults()
	if _, err := checkFormat(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	tools := newTools(cfg, newMetrics(cfg.Registerer))
	meta, err := openMeta(filepath.Join(cfg.Dir, "meta"), cfg, tools)
	if err != nil {
		t.Fatal(err)
	}
	n.store = newStore(cfg, tools, meta)
	if err := n.store.open(ctx); err != nil {
		t.Fatal(err)
	}
	n.store.run()
	n.live.Store(n.store)
}
