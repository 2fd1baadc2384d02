package main

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// load is closed: each client has one entry under way.
type load struct {
	cluster        *cluster
	clients, entry int
	front          bool
	warmup, window time.Duration

	phase atomic.Int32
}

// Phases of a load, in their order.
const (
	warming int32 = iota
	measuring
	over
)

// loaded is what a load saw.
type loaded struct {
	latencies    []time.Duration // of the entries that were acknowledged in the window
	acknowledged []uint64        // the highest index, by group; of the whole load
	usage        usage           // of the process in the window
	window       time.Duration   // as it really was
}

func (l *load) run() (loaded, error) {
	ways := l.ways()
	clients := make([]client, l.clients)
	var running sync.WaitGroup
	for i := range clients {
		group := i % len(ways)
		clients[i] = client{load: l, group: group, way: ways[group]}
		running.Go(clients[i].run)
	}
	time.Sleep(l.warmup)
	began := time.Now()
	before, err := used(l.cluster)
	if err != nil {
		return loaded{}, err
	}
	l.phase.Store(measuring)
	time.Sleep(l.window)
	l.phase.Store(over)
	after, err := used(l.cluster)
	took := time.Since(began)
	running.Wait()
	return merge(clients, len(l.cluster.replicas), after.since(before), took, err)
}

// ways is how entries come to each group.
func (l *load) ways() []committer {
	ways := make([]committer, len(l.cluster.replicas))
	for g := range ways {
		if leader := l.cluster.leader(g); l.front {
			ways[g] = newFront(leader)
		} else {
			ways[g] = direct{leader}
		}
	}
	return ways
}

func merge(clients []client, groups int, usage usage, window time.Duration, err error) (loaded, error) {
	all := loaded{acknowledged: make([]uint64, groups), usage: usage, window: window}
	for _, c := range clients {
		if err == nil {
			err = c.err
		}
		all.latencies = append(all.latencies, c.latencies...)
		all.acknowledged[c.group] = max(all.acknowledged[c.group], c.index)
	}
	return all, err
}

type client struct {
	load      *load
	group     int
	way       committer
	latencies []time.Duration
	index     uint64 // of its last entry
	err       error
}

// run proposes until the load is over. No two entries are equal, and none can be
// compressed.
func (c *client) run() {
	for n := uint64(0); c.load.phase.Load() != over; n++ {
		data := make([]byte, c.load.entry) // raft keeps it
		_, _ = rand.Read(data)             // never fails
		binary.BigEndian.PutUint64(data, n)
		began := time.Now()
		index, err := c.way.commit(data)
		if err != nil {
			c.err = err
			return
		}
		c.index = index
		if c.load.phase.Load() == measuring {
			c.latencies = append(c.latencies, time.Since(began))
		}
	}
}
