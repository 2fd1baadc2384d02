package ownership

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

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
