package ownership

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Counts returns the number of channels and of subscriptions in the ranges of
// this node.
func (s *Store) Counts() (channels, subscriptions uint64) {
	for _, g := range s.groups() {
		moreChannels, moreSubscriptions := g.state.Counts()
		channels, subscriptions = channels+moreChannels, subscriptions+moreSubscriptions
	}
	return channels, subscriptions
}

// UpdateBytes returns the bytes of the updates kept in the ranges of this node.
func (s *Store) UpdateBytes() (bytes uint64) {
	for _, g := range s.groups() {
		bytes += g.state.UpdateBytes()
	}
	return bytes
}

// Ranges returns the ranges in the order of their buckets.
func (s *Store) Ranges() []RangeStatus {
	routes := s.inOrder()
	ranges := make([]RangeStatus, len(routes))
	for i, r := range routes {
		ranges[i] = r.status()
	}
	return ranges
}

// Unsnapshotted returns the bytes of log entries that no snapshot covers: a start
// replays them.
func (s *Store) Unsnapshotted() (bytes uint64) {
	for _, g := range s.groups() {
		bytes += g.fsm.behind.Load()
	}
	return bytes
}

// tooFarBehind is up to how many times Config.SnapshotBytes may be without a snapshot.
// While snapshots succeed it is about twice what the log asks for one at
// (SnapshotBytes, or half a memtable if that is less); the rest lets a node be slow for
// a while.
const tooFarBehind = 4

// Ready returns nil when all ranges of this node have a leader that serves, as far as
// it knows, and its replicas have caught up with it, or an ErrUnavailable that names one for which
// that does not hold; or ErrBehind.
func (s *Store) Ready() error {
	if table := s.known.Load(); table != nil && !present(table, s.net.self()) {
		return fmt.Errorf("%w: this node was removed from the cluster", ErrUnavailable)
	}
	if s.repairs != nil {
		if err := s.repairs.ready(s.known.Load()); err != nil {
			return err
		}
	}
	for _, g := range s.groups() {
		if err := g.upToDate(); err != nil {
			return err
		}
	}
	if err := s.checkClock(); err != nil {
		return err
	}
	if behind, most := s.Unsnapshotted(), tooFarBehind*s.cfg.SnapshotBytes; behind > most {
		return fmt.Errorf("%w: no snapshot covers %d bytes of it, want %d at most", ErrBehind, behind, most)
	}
	return nil
}

// present reports whether a table has a node that was not removed.
func present(table *wire.Meta, id string) bool {
	n := tables.Node(table, id)
	return n != nil && NodeState(n.State) != NodeRemoved
}

// Table returns all ranges of the cluster in the order of their buckets.
func (s *Store) Table() []channel.Range {
	routes := s.inOrder()
	table := make([]channel.Range, len(routes))
	for i, r := range routes {
		table[i] = r.Range
	}
	return table
}

// serving returns how many ranges this node leads and serves.
func (s *Store) serving() (n int) {
	for _, g := range s.groups() {
		if g.serving.Load() {
			n++
		}
	}
	return n
}

func (s *Store) addGauges() {
	m := s.tools.metrics
	m.gauge("channels", "Channels in ranges of this node.", func() float64 { n, _ := s.Counts(); return float64(n) })
	m.gauge("subscriptions", "Subscriptions in ranges of this node.", func() float64 { _, n := s.Counts(); return float64(n) })
	m.gauge("update_bytes", "Bytes of updates kept in ranges of this node.", func() float64 { return float64(s.UpdateBytes()) })
	m.gauge("unsnapshotted_bytes", "Bytes of log entries that no snapshot covers, and that a start replays.", func() float64 { return float64(s.Unsnapshotted()) })
	m.gauge("state_cache_bytes", "Memory that holds blocks of the state.", func() float64 { return float64(s.state.Metrics().BlockCache.Size) })
	m.gauge("state_memtable_bytes", "Memory that holds changes of the state that are not on disk yet.", func() float64 {
		tables := s.state.Metrics().MemTable
		return float64(tables.Size + tables.ZombieSize)
	})
	m.gauge("queued_bytes", "Bytes of commands that wait for their range's log.", func() float64 {
		n := 0
		for _, g := range s.groups() {
			n += g.queue.size()
		}
		return float64(n)
	})
	m.gauge("damaged_buckets", "Buckets of states that were damaged when they were read last.", func() float64 { return float64(s.scrub.damaged()) })
	m.gauge("damaged_replicas", "Replicas of this node that are damaged and are not filled again yet.", func() float64 {
		if s.repairs == nil {
			return 0
		}
		return float64(len(s.repairs.all()))
	})
	m.gauge("leading_ranges", "Ranges that this node leads and serves.", func() float64 { return float64(s.serving()) })
}
