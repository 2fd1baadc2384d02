package ownership

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/seed-91e7e7c1/corona/channel"
)

// TestReadsBesideDrop: while the state of a replica is dropped, and what is in memory is written
// for that, the states of other ranges are read.
func TestReadsBesideDrop(t *testing.T) {
	t.Parallel()
	var armed, read, waited atomic.Bool
	var s *Store
	var other channel.Subscription
	cfg := testConfig(t)
	cfg.files = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !strings.Contains(op.Path, "state") || !strings.HasSuffix(op.Path, ".sst") || !armed.CompareAndSwap(true, false) {
			return nil
		}
		done := make(chan error, 1)
		go func() { _, err := s.Subscription(other.ID); done <- err }()
		select {
		case err := <-done:
			read.Store(err == nil)
		case <-time.After(2 * time.Second):
			waited.Store(true)
		}
		return nil
	}))
	s = open(t, cfg)
	dropped := s.byID(0)
	for _, r := range s.inOrder() {
		other = subscribe(t, s, wishIn(r.Range))
	}
	if err := s.replicas.close(dropped); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if err := s.replicas.delete(dropped.ID); err != nil {
		t.Fatal(err)
	}
	if !read.Load() || waited.Load() {
		t.Errorf("a read beside a write of the state succeeds: %v, waits: %v", read.Load(), waited.Load())
	}
}

// TestClosedIsLost: who acts on a range is told that it is lost when its replica, which leads, is
// closed.
func TestClosedIsLost(t *testing.T) {
	t.Parallel()
	cfg, told := testConfig(t), newLeads()
	cfg.Observer = told
	s := open(t, cfg)
	told.await(t, cfg.Ranges)
	if err := s.replicas.close(s.byID(0)); err != nil {
		t.Fatal(err)
	}
	if led, _ := told.counts(); led != cfg.Ranges-1 {
		t.Errorf("%d ranges are taken for led, want %d", led, cfg.Ranges-1)
	}
}
