package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/founding"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// metaCalls are what nodes ask each other about the cluster, and the table that this node
// knows by that. They travel as calls of a range whose ID is metaRange.
type metaCalls struct {
	*router
	meta     *metaGroup
	versions tables.Versions       // of this program
	founding *founding.Founding    // nil in a cluster of one
	servers  map[string]metaServer // by kind; complete when the first call comes
	learned  chan struct{}         // full when known may be new to placer.run
	learning sync.Mutex            // held while known, and version with it, become newer
}

// metaServer answers a kind of call.
type metaServer func(ctx context.Context, query []byte) (answer proto.Message, err error)

// callTable says: here is a table; it is answered with the one known there.
const callTable = "table"

func newMetaCalls(rt *router, meta *metaGroup, versions tables.Versions) *metaCalls {
	m := &metaCalls{router: rt, meta: meta, versions: versions, servers: make(map[string]metaServer), learned: make(chan struct{}, 1)}
	m.servers[callTable] = func(_ context.Context, query []byte) (proto.Message, error) {
		table := &wire.Meta{}
		if err := proto.Unmarshal(query, table); err != nil {
			return nil, fmt.Errorf("%w: table: %w", ErrInvalid, err)
		}
		m.learn(table)
		return m.known.Load(), nil
	}
	return m
}

// serve carries out a call that another member has sent.
func (m *metaCalls) serve(ctx context.Context, call peer.Call) ([]byte, error) {
	question := &wire.Question{}
	if err := proto.Unmarshal(call.Payload, question); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	answer := &wire.Answer{}
	content, err := m.answer(ctx, question)
	if err == nil {
		answer.Content, err = proto.Marshal(content)
	}
	switch {
	case errors.Is(err, errElsewhere):
		answer = &wire.Answer{Elsewhere: true}
	case err != nil:
		answer = &wire.Answer{Failure: failureOf(err)}
	}
	return proto.Marshal(answer)
}

func (m *metaCalls) answer(ctx context.Context, question *wire.Question) (proto.Message, error) {
	if !m.started.Load() {
		return nil, errElsewhere
	}
	serve, known := m.servers[question.Kind]
	if !known {
		return nil, fmt.Errorf("%w: the meta group knows no call %q", ErrInvalid, question.Kind)
	}
	return serve(ctx, question.Query)
}

// ask makes a call at another node, and returns the content of its answer.
func (m *metaCalls) ask(ctx context.Context, node, kind string, query []byte) ([]byte, error) {
	question, err := proto.Marshal(&wire.Question{Kind: kind, Query: query})
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	reply, err := m.net.peers.Call(ctx, node, peer.Log, kindCall, metaRange, question)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errElsewhere, err)
	}
	answer := &wire.Answer{}
	if err := proto.Unmarshal(reply, answer); err != nil {
		return nil, fmt.Errorf("%w: answer of %s: %w", ErrUnavailable, raftnet.NodeName(node), err)
	}
	if answer.Elsewhere {
		return nil, errElsewhere
	}
	return answer.Content, failureError(answer.Failure)
}

// askTable makes a call at another node that is answered with a table, and learns that.
func (m *metaCalls) askTable(ctx context.Context, node, kind string, query []byte) (*wire.Meta, error) {
	content, err := m.ask(ctx, node, kind, query)
	if err != nil {
		return nil, err
	}
	table := &wire.Meta{}
	if err := proto.Unmarshal(content, table); err != nil {
		return nil, fmt.Errorf("%w: table of %s: %w", ErrUnavailable, raftnet.NodeName(node), err)
	}
	m.learn(table)
	return table, nil
}

// learn takes a table of the cluster that may be newer than the one known. A program that is
// too old for it ends: it was started while the cluster was at its version.
func (m *metaCalls) learn(table *wire.Meta) {
	if !m.learnNewer(table) {
		return
	}
	if err := m.versions.Fits(table); err != nil {
		m.tools.fail(err)
		return
	}
	m.ring()
}

// ring has placer.run look again.
func (m *metaCalls) ring() { signal(m.learned) }

// learnNewer replaces the table known by a newer one, and the version with it: raft tells of
// tables while other nodes do.
func (m *metaCalls) learnNewer(table *wire.Meta) bool {
	m.learning.Lock()
	defer m.learning.Unlock()
	known := m.known.Load()
	if known == nil || !tables.Newer(table, known) || string(table.Cluster) != string(known.Cluster) {
		return false
	}
	m.known.Store(table)
	m.version.Store(tables.VersionOf(table))
	return true
}

// announce tells all other nodes of the table, so that none waits until raft has told it.
func (m *metaCalls) announce(ctx context.Context, table *wire.Meta) {
	content, err := proto.Marshal(table)
	if err != nil {
		return
	}
	for _, n := range table.Nodes {
		if n.Id == m.net.self() {
			continue
		}
		go func() { // ends within a call's limit
			ctx, cancel := context.WithTimeout(ctx, confirmWithin)
			defer cancel()
			_, _ = m.askTable(ctx, n.Id, callTable, content) // a node that does not hear learns it from raft, or asks
		}()
	}
}

// askEvery is how often a node that hears from no leader of the meta group asks another one
// for its table: raft does not tell a replica that it was removed. One that has a leader asks a
// node that is silent, which may have removed it.
const askEvery = 2 * time.Second

// keepAsking asks until ctx ends.
func (m *metaCalls) keepAsking(ctx context.Context) {
	every(ctx, askEvery, func() {
		other := m.tableFrom()
		if other == "" {
			return
		}
		table, err := m.founding.Newest(ctx, other)
		if err != nil {
			m.tools.log.Debug("node gives no table", "node", other, "error", err)
			return
		}
		m.learn(table)
	})
}

// tableFrom chooses a node to ask for its table, empty for none.
func (m *metaCalls) tableFrom() string {
	_, leader := m.meta.raft().LeaderWithID()
	var others []string
	for _, n := range m.known.Load().Nodes {
		if n.Id != m.net.self() && NodeState(n.State) != NodeRemoved && (leader == "" || m.net.silent(n.Id)) {
			others = append(others, n.Id)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return others[rand.IntN(len(others))]
}

// hearWithin bounds how long a start waits for other nodes to say which table they know.
const hearWithin = 500 * time.Millisecond

// hearTables returns the newest table that other nodes know, at most that: a node that was
// away may have lost its replicas, or all of the cluster may have been recovered without it,
// and must not take up with others like it what it had.
func (m *metaCalls) hearTables(ctx context.Context, table *wire.Meta) *wire.Meta {
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	m.net.setPeers(table)
	heard := make(chan *wire.Meta, len(table.Nodes))
	for _, n := range table.Nodes {
		if n.Id == m.net.self() {
			heard <- table
			continue
		}
		go func() { // ends with ctx
			theirs, err := m.founding.Newest(ctx, n.Id)
			if err != nil || !slices.Equal(theirs.Cluster, table.Cluster) || m.versions.Fits(theirs) != nil {
				theirs = nil
			}
			heard <- theirs
		}()
	}
	newest := table
	for range table.Nodes {
		if theirs := <-heard; theirs != nil && tables.Newer(theirs, newest) {
			newest = theirs
		}
	}
	return newest
}
