package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// nodes is the number of nodes, and of replicas of each group.
const nodes = 3

// cluster is three nodes of one process. Group g is led by node g mod 3.
type cluster struct {
	stores   [nodes]nodeStore
	replicas [][nodes]replica // by group
	counts   counts
}

type replica struct {
	*raft.Raft
	transport *raft.InmemTransport
}

// openCluster opens the stores under dir and starts every replica. took is how
// long that was for a node, on average: opening its store, and raft's reading of
// every entry behind the snapshots.
func openCluster(dir, kind string, groups int) (c *cluster, took time.Duration, err error) {
	c = &cluster{replicas: make([][nodes]replica, groups)}
	began := time.Now()
	for n := range nodes {
		if err := c.openNode(filepath.Join(dir, fmt.Sprint(n)), kind, n); err != nil {
			return nil, 0, fmt.Errorf("open node %d: %w", n, err)
		}
	}
	took = time.Since(began) / nodes
	c.connect()
	return c, took, nil
}

func (c *cluster) openNode(dir, kind string, n int) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if c.stores[n], err = open(kind, dir, len(c.replicas)); err != nil {
		return err
	}
	for g := range c.replicas {
		if c.replicas[g][n], err = c.startReplica(g, n); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
	}
	return nil
}

// startReplica starts raft, and founds the group if it is new.
func (c *cluster) startReplica(g, n int) (replica, error) {
	logs, stable, err := c.stores[n].group(g)
	if err != nil {
		return replica{}, err
	}
	// Programs with these stores put raft's cache before them.
	cached, err := raft.NewLogCache(512, countedLog{logs, &c.counts})
	if err != nil {
		return replica{}, err
	}
	conf := config(n, len(c.replicas))
	_, transport := raft.NewInmemTransportWithTimeout(address(g, n), time.Minute)
	snapshots := markers{stable}
	err = raft.BootstrapCluster(conf, cached, stable, snapshots, transport, members(g))
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return replica{}, fmt.Errorf("found: %w", err)
	}
	r, err := raft.NewRaft(conf, nothing{&c.counts}, cached, stable, snapshots, transport)
	return replica{r, transport}, err
}

// Timeouts are far above what a slow disk delays, so that no election disturbs a
// window.
const (
	electionTimeout = 20 * time.Second
	leaderLease     = 10 * time.Second
)

// keepEntries is how many entries a node keeps, over all groups, before it
// truncates: few enough that a window sees truncation.
const keepEntries = 16384

func config(n, groups int) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = serverID(n)
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = electionTimeout, electionTimeout, leaderLease
	conf.MaxAppendEntries = 1024 // raft's own batches must not be the limit
	keep := uint64(max(keepEntries/groups, 128))
	conf.SnapshotInterval, conf.SnapshotThreshold, conf.TrailingLogs = 200*time.Millisecond, keep, keep
	conf.NoLegacyTelemetry = true
	conf.Logger = hclog.NewNullLogger()
	return conf
}

func serverID(n int) raft.ServerID { return raft.ServerID(fmt.Sprint(n)) }

func address(g, n int) raft.ServerAddress { return raft.ServerAddress(fmt.Sprintf("%d/%d", g, n)) }

func members(g int) raft.Configuration {
	var all raft.Configuration
	for n := range nodes {
		all.Servers = append(all.Servers, raft.Server{Suffrage: raft.Voter, ID: serverID(n), Address: address(g, n)})
	}
	return all
}

// connect lets the replicas of each group reach each other.
func (c *cluster) connect() {
	for g, group := range c.replicas {
		for a, from := range group {
			for b, to := range group {
				if a != b {
					from.transport.Connect(address(g, b), to.transport)
				}
			}
		}
	}
}

// elect makes every group's leader, and returns when all of them can take
// entries.
func (c *cluster) elect() error {
	for g := range c.replicas {
		leader := c.leader(g)
		// A change of the timeout makes a follower look at it at once, and nothing
		// was heard from a leader yet.
		conf := leader.ReloadableConfig()
		conf.HeartbeatTimeout, conf.ElectionTimeout = leaderLease, leaderLease
		if err := leader.ReloadConfig(conf); err != nil {
			return err
		}
	}
	for g := range c.replicas {
		select {
		case <-c.leader(g).LeaderCh():
		case <-time.After(electionTimeout):
			return fmt.Errorf("group %d has no leader", g)
		}
		if err := c.leader(g).Barrier(0).Error(); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
	}
	return nil
}

func (c *cluster) leader(g int) *raft.Raft { return c.replicas[g][g%nodes].Raft }

// terms is the sum of all groups' terms: it rises with every election.
func (c *cluster) terms() (sum uint64) {
	for g := range c.replicas {
		sum += c.leader(g).CurrentTerm()
	}
	return sum
}

func (c *cluster) fsyncs() (sum uint64) {
	for _, store := range c.stores {
		sum += store.fsyncs()
	}
	return sum
}
