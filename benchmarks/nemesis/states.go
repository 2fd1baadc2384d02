//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/channel"
)

// The states of replicas, read from the disks of nodes that were stopped in order: the one
// thing that is judged by what the program writes and not by what it says. The layout is
// that of ownership/DESIGN.md: a key begins with its bucket, and beyond all buckets stands
// how far each range is applied.

const (
	statesPath   = "ranges/state"
	systemBucket = 0xFFFF
	kindApplied  = 'a'
	buckets      = channel.Buckets
)

// span is the buckets of a range.
type span struct {
	id       uint32
	from, to channel.Bucket // both inclusive
}

// replicaState is what a disk has of a range.
type replicaState struct {
	applied uint64 // index of the newest command in it
	records int
	sum     [sha256.Size]byte // of keys and values in order
}

// readStates reads what a directory of states has of ranges.
func readStates(dir string, spans []span) (states []replicaState, err error) {
	db, err := pebble.Open(dir, &pebble.Options{ReadOnly: true, Logger: silentLogger{}})
	if err != nil {
		return nil, fmt.Errorf("read states: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, s := range spans {
		state, err := readState(db, s)
		if err != nil {
			return nil, fmt.Errorf("read state of range %d: %w", s.id, err)
		}
		states = append(states, state)
	}
	return states, nil
}

func readState(db *pebble.DB, s span) (state replicaState, err error) {
	if state.applied, err = appliedOf(db, s.id); err != nil {
		return state, err
	}
	iter, err := db.NewIter(&pebble.IterOptions{
		LowerBound: binary.BigEndian.AppendUint16(nil, uint16(s.from)), UpperBound: binary.BigEndian.AppendUint16(nil, uint16(s.to)+1),
	})
	if err != nil {
		return state, err
	}
	h := sha256.New()
	for ok := iter.First(); ok; ok = iter.Next() {
		state.records++
		fmt.Fprintf(h, "%q=%q\n", iter.Key(), iter.Value())
	}
	h.Sum(state.sum[:0])
	return state, iter.Close()
}

// appliedOf reads up to which entry a range is applied, 0 where there is no record.
func appliedOf(db *pebble.DB, id uint32) (index uint64, err error) {
	key := append(binary.BigEndian.AppendUint16(nil, systemBucket), kindApplied)
	value, closer, err := db.Get(binary.BigEndian.AppendUint32(key, id))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	for rest := value; len(rest) > 0; {
		number, kind, size := protowire.ConsumeTag(rest)
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		rest = rest[size:]
		if number == 1 && kind == protowire.VarintType {
			index, size = protowire.ConsumeVarint(rest)
		} else {
			size = protowire.ConsumeFieldValue(number, kind, rest)
		}
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		rest = rest[size:]
	}
	return index, nil
}

type silentLogger struct{}

func (silentLogger) Infof(string, ...any)  {}
func (silentLogger) Errorf(string, ...any) {}
func (silentLogger) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("read states: "+format, args...))
}

// stopTries is how often all nodes are stopped until the replicas of each range are at the
// same entry: a leader may write while others have stopped.
const stopTries = 4

// sameStates stops all nodes and compares the replicas of each range.
func (r *run) sameStates(ctx context.Context) error {
	for try := 1; ; try++ {
		status, err := r.fleet.members()[0].Status(ctx)
		if err != nil {
			return err
		}
		if err := r.stopAll(); err != nil {
			return err
		}
		apart, err := r.compare(status.Cluster.Ranges)
		if err != nil {
			return err
		}
		if len(apart) == 0 {
			fmt.Fprintf(r.out, "          the replicas of %d ranges have equal states, after %d stops\n", len(status.Cluster.Ranges), try)
			return nil
		}
		if try == stopTries {
			return fmt.Errorf("%w: %s: not at the same entry after %d stops: %v", errViolated, ruleStates, try, apart)
		}
		if err := r.startAll(ctx); err != nil {
			return err
		}
	}
}

// stopAll stops all nodes at the same time.
func (r *run) stopAll() error {
	members := r.fleet.members()
	errs := make([]error, len(members))
	var stopping sync.WaitGroup
	for i, node := range members {
		stopping.Go(func() { errs[i] = node.Stop() })
	}
	stopping.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", errViolated, err)
	}
	for _, node := range members {
		stacks, err := witness.Stacks(node.Process)
		if err != nil {
			return err
		}
		if len(stacks) > 0 {
			return fmt.Errorf("%w: %s: %s said %q", errViolated, witness.RuleNoStack, node.Name, stacks)
		}
	}
	return nil
}

// startAll starts all nodes and waits until each says that it serves, and the followers
// have what the leaders had.
func (r *run) startAll(ctx context.Context) error {
	members := r.fleet.members()
	for _, node := range members {
		if err := node.Start(); err != nil {
			return err
		}
	}
	for _, node := range members {
		for begun := r.recorder.Now(); r.fleet.whole(ctx) != nil || !node.Ready(ctx); witness.Pause(ctx, wholePause) {
			if err := errors.Join(ctx.Err(), node.Alive()); err != nil {
				return err
			}
			if r.recorder.Now()-begun > wholeWithin {
				return fmt.Errorf("%w: %s is not ready %s after all were stopped and started", errViolated, node.Name, wholeWithin)
			}
		}
	}
	witness.Pause(ctx, followersHave)
	return nil
}

// followersHave is how soon after a leader followers have applied what it has: raft tells
// them with the next heartbeat.
const followersHave = 3 * witness.SlowSync

// compare reads all replicas of ranges, and returns those at different entries, by range. It
// is a violation if states differ at the same entry, or a node has what the table does not
// give it.
func (r *run) compare(ranges []api.Range) (apart map[uint32][]uint64, err error) {
	spans := make([]span, len(ranges))
	for i, of := range ranges {
		spans[i] = span{of.ID, of.From, of.To}
	}
	apart = make(map[uint32][]uint64)
	first := make(map[uint32]replicaState)
	for _, node := range r.fleet.members() {
		states, err := readStates(filepath.Join(node.Data, statesPath), spans)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node.Name, err)
		}
		for i, state := range states {
			if err := r.agrees(ranges[i], node, state, first, apart); err != nil {
				return nil, err
			}
		}
	}
	for id, indexes := range apart {
		if slices.Min(indexes) == slices.Max(indexes) {
			delete(apart, id)
		}
	}
	return apart, nil
}

func (r *run) agrees(of api.Range, node *cluster.Node, state replicaState, first map[uint32]replicaState, at map[uint32][]uint64) error {
	if !slices.Contains(of.Replicas, node.Name) {
		if state.records > 0 {
			return fmt.Errorf("%w: %s: %s has %d records of range %d, which is on %v", errViolated, ruleRemoved, node.Name, state.records, of.ID, of.Replicas)
		}
		return nil
	}
	at[of.ID] = append(at[of.ID], state.applied)
	have, known := first[of.ID]
	if !known {
		first[of.ID] = state
		return nil
	}
	if have.applied == state.applied && have.sum != state.sum {
		return fmt.Errorf("%w: %s: range %d at entry %d: %s has %d records, %x, another node %d, %x",
			errViolated, ruleStates, of.ID, state.applied, node.Name, state.records, state.sum[:4], have.records, have.sum[:4])
	}
	return nil
}
