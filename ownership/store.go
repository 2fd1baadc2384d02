package ownership

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// Store is this node's part of the cluster's state. Its methods may be called from any goroutine.
// Most of them are of the parts that it consists of, which newStore puts together: DESIGN.md lists
// what each does.
type Store struct {
	cfg  Config
	meta *metaGroup

	*router
	*reads
	*writes
	*feeds
	*backups
	*leadership
	*metaCalls
	*survey
	*changes
	*recoveries
	views viewCalls

	ranges  *configurer
	driver  *driver
	splits  *splitter
	compare *comparer
	scrub   *scrubber
	mend    *mender
	place   *placer

	*stores
	held     *held
	replicas *replicas
	turns    *turns

	cancel context.CancelFunc // ends running
	close  sync.Once
	ended  error // of Close
}

// reads are the methods of Store that read this node's replicas.
type reads = state.Reader

// drainWithin bounds how long Close waits for commands under way.
const drainWithin = 3 * time.Second

// Cluster returns the cluster's ID, 32 hex digits made at its birth: cursors of
// another cluster mean nothing here.
func (s *Store) Cluster() string { return s.cluster }

// Close refuses new commands, waits for those under way, and stops. It may be
// called more than once.
func (s *Store) Close() error {
	s.close.Do(func() { s.ended = s.shutdown() })
	return s.ended
}

// shutdown also cleans up after an Open that failed half way.
func (s *Store) shutdown() error {
	s.closing.Store(true)
	s.cancel()
	s.copies.end()
	s.loops.Wait()
	s.handOver()
	s.drain()
	errs := make([]error, len(s.groups()))
	var stopped sync.WaitGroup
	for i, g := range s.groups() {
		stopped.Go(func() { errs[i] = g.stop() })
	}
	stopped.Wait()
	s.compare.close()
	err := errors.Join(errors.Join(errs...), s.meta.close())
	if s.net != nil {
		s.net.close()
	}
	err = errors.Join(err, s.stores.close())
	s.tools.metrics.unregister()
	return err
}

func (s *Store) drain() {
	deadline := time.NewTimer(drainWithin)
	defer deadline.Stop()
	waits := make([]<-chan struct{}, 0, len(s.groups()))
	for _, g := range s.groups() {
		if g.raft != nil {
			waits = append(waits, g.refuse())
		}
	}
	for _, wait := range waits {
		select {
		case <-wait:
		case <-deadline.C:
			s.tools.log.Warn("stopped with commands under way")
			return
		}
	}
}
