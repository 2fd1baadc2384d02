package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// cluster is the nodes under test: children of this process, or targets that run already.
type cluster struct {
	scenario  *scenario.Scenario
	binary    string
	folder    string // of logs
	authority string // file with the certificate of the origins' authority; empty: no TLS

	nodes   []*node       // none of targets
	clients []*api.Client // of all
	version string
}

// start starts the nodes.
func (c *cluster) start(ctx context.Context) error {
	if err := c.make(ctx); err != nil {
		return err
	}
	if err := c.found(ctx); err != nil {
		return err
	}
	urls := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		urls[i] = n.url
	}
	return c.connect(ctx, urls)
}

// found starts all nodes, whose directories are empty, and waits until they serve.
func (c *cluster) found(ctx context.Context) error {
	for _, n := range c.nodes {
		n.mu.Lock()
		err := n.begin()
		n.away = err != nil
		n.mu.Unlock()
		if err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
	}
	for _, n := range c.nodes {
		if err := child.AwaitURL(ctx, n.url+"/readyz", n.process); err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
	}
	return nil
}

// foundAnew kills all nodes and starts them with empty directories: another cluster.
func (c *cluster) foundAnew(ctx context.Context) error {
	for _, n := range c.nodes {
		if err := n.do(ctx, scenario.Kill); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		n.keep()
		if err := n.empty(); err != nil {
			return err
		}
	}
	return c.found(ctx)
}

// connect makes clients of nodes that serve, and asks the first one for its version.
func (c *cluster) connect(ctx context.Context, urls []string) error {
	for _, url := range urls {
		client, err := api.NewClient(url, nil)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		c.clients = append(c.clients, client)
	}
	status, err := c.clients[0].Status(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNode, err)
	}
	c.version = status.Version
	return nil
}

// make makes the nodes' command lines.
func (c *cluster) make(ctx context.Context) (err error) {
	count := c.scenario.Nodes.Count
	addresses := make([]string, 3*count) // of the API, of the cluster, of gossip
	for i := range addresses {
		if addresses[i], err = child.OwnAddress(ctx); err != nil {
			return err
		}
	}
	gossip := addresses[2*count:]
	for i := range count {
		data, err := os.MkdirTemp("", "corona-loadgen-")
		if err != nil {
			return err
		}
		n := &node{name: "n" + strconv.Itoa(i+1), url: "http://" + addresses[i], data: data}
		c.nodes = append(c.nodes, n)
		args := []string{"serve", "--listen", addresses[i], "--data", data, "--name", n.name, "--allow-private", "--log-level", "warn"}
		if count > 1 {
			args = append(args, "--cluster", addresses[count+i], "--gossip", gossip[i], "--join", strings.Join(gossip, ","), "--bootstrap-expect", strconv.Itoa(count))
		}
		log := filepath.Join(c.folder, fmt.Sprintf("node-%d.log", i+1))
		if n.process, err = child.New(log, c.binary, append(args, c.scenario.Nodes.Args...)...); err != nil {
			return err
		}
		n.process.Bound = true
		if c.authority != "" {
			n.process.Env = []string{"SSL_CERT_FILE=" + c.authority} // which crypto/x509 takes for the system's
		}
	}
	return nil
}

// alive returns an error when a node ended that was to live.
func (c *cluster) alive() error {
	for _, n := range c.nodes {
		if err := n.alive(); err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
	}
	return nil
}

// used returns what each node has used so far.
func (c *cluster) used() []use {
	all := make([]use, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = n.sample()
	}
	return all
}

// stop ends the nodes in order, and tells of each that did not end as it should.
func (c *cluster) stop(failed func(name string, err error)) {
	for _, n := range c.nodes {
		if err := n.stop(); err != nil {
			failed(n.name, err)
		}
	}
}

// close kills what is left, and removes the nodes' data.
func (c *cluster) close() (err error) {
	for _, n := range c.nodes {
		err = errors.Join(err, n.close())
	}
	return err
}

// urls yields the names and addresses of all nodes.
func (c *cluster) urls(yield func(name, url string) bool) {
	for _, n := range c.nodes {
		if !yield(n.name, n.url) {
			return
		}
	}
	for i, target := range c.scenario.Target {
		if !yield("target"+strconv.Itoa(i+1), target) {
			return
		}
	}
}

// channelTold is what a node tells of a channel; zero where it does not know it.
type channelTold struct {
	subscribers uint64
	rate        float64 // polls per interval
	size        float64 // bytes that a poll is expected to take
}

// channels yields what each node that answers tells of channels, by their numbers, and why the
// others do not.
func (c *cluster) channels(ctx context.Context, url func(n int) string, count int) iter.Seq2[[]channelTold, error] {
	numbers := make(map[channel.ID]int, count)
	for n := range count {
		numbers[channel.IDOf(url(n))] = n
	}
	return func(yield func([]channelTold, error) bool) {
		for i, client := range c.clients {
			if i < len(c.nodes) && c.nodes[i].isAway() {
				continue
			}
			told, err := readChannels(ctx, client, numbers)
			if err != nil {
				err = fmt.Errorf("node %d: %w", i+1, err)
			}
			if !yield(told, err) {
				return
			}
		}
	}
}

func readChannels(ctx context.Context, client *api.Client, numbers map[channel.ID]int) ([]channelTold, error) {
	told := make([]channelTold, len(numbers))
	for ch, err := range client.Channels(ctx) {
		if err != nil {
			return nil, err
		}
		if n, ours := numbers[ch.ID]; ours {
			told[n] = channelTold{ch.Subscribers, ch.Rate, float64(ch.SizeBytes)}
		}
	}
	return told, nil
}

// balancedWithin is how long the nodes of a cluster may take until each leads its share of
// the ranges: a node gives back one range in five seconds.
const balancedWithin = 3 * time.Minute

// awaitLeads waits until each range has a leader, and each node of a cluster that was started
// leads its share, or has had the time for that: no range is handed over under load.
func (c *cluster) awaitLeads(ctx context.Context) error {
	if len(c.nodes) < 2 {
		return nil
	}
	begun := time.Now()
	return child.Await(ctx, "leaders of all ranges", 2*balancedWithin, func() (bool, error) {
		status, err := c.clients[0].Status(ctx)
		if err != nil {
			return false, nil // not yet
		}
		leads, least := make(map[string]int), len(status.Cluster.Ranges)/len(c.nodes)
		for _, each := range status.Cluster.Ranges {
			leads[each.Leader]++
		}
		balanced := time.Since(begun) > balancedWithin || !slices.ContainsFunc(c.nodes, func(n *node) bool { return leads[n.name] < least })
		return leads[""] == 0 && balanced, nil
	}, c.nodes[0].process)
}

// disk adds up the data directories.
func (c *cluster) disk(d *result.Disk) (err error) {
	d.Folders = make(map[string]int64)
	for _, n := range c.nodes {
		err = errors.Join(err, filepath.WalkDir(n.data, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return ignoreMissing(err)
			}
			info, err := entry.Info()
			if err != nil {
				return ignoreMissing(err)
			}
			inside, err := filepath.Rel(n.data, path)
			if err != nil {
				return err
			}
			parts := strings.Split(filepath.ToSlash(inside), "/")
			d.Folders[strings.Join(parts[:min(2, len(parts)-1)], "/")] += info.Size()
			d.Bytes += info.Size()
			return nil
		}))
	}
	return err
}

// ignoreMissing overlooks what a node removed meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// wholeWithin is how long a cluster may take until all ranges have their replicas.
const wholeWithin = 30 * time.Minute

// replace has a node lose all that it has, and waits until the cluster has filled it again.
func (c *cluster) replace(ctx context.Context, n *node) error {
	if err := n.do(ctx, scenario.Replace); err != nil {
		return err
	}
	return c.awaitWhole(ctx, 1)
}

// split has ranges split, and waits until there are so many.
func (c *cluster) split(ctx context.Context, ranges int) error {
	if err := c.clients[0].SplitRanges(ctx, ranges); err != nil {
		return err
	}
	return c.awaitWhole(ctx, ranges)
}

// awaitWhole waits until each node knows of so many ranges, each of which has all its replicas
// and a leader.
func (c *cluster) awaitWhole(ctx context.Context, ranges int) error {
	var lacks error
	for begun := time.Now(); time.Since(begun) < wholeWithin; {
		if lacks = c.whole(ctx, ranges); lacks == nil {
			return nil
		}
		if err := pause(ctx, time.Now().Add(retryPause)); err != nil {
			return err
		}
	}
	return fmt.Errorf("not whole after %s: %w", wholeWithin, lacks)
}

// mostReplicas is how many replicas a range has where there are as many nodes.
const mostReplicas = 3

func (c *cluster) whole(ctx context.Context, ranges int) error {
	for _, client := range c.clients {
		known, err := client.Nodes(ctx)
		if err != nil {
			return err
		}
		status, err := client.Status(ctx)
		if err != nil {
			return err
		}
		replicas, want := 0, min(len(known.Nodes), mostReplicas)
		for _, n := range known.Nodes {
			if n.State != "alive" || len(known.Nodes) != len(c.clients) {
				return fmt.Errorf("node %s is %s, one of %d", n.Name, n.State, len(known.Nodes))
			}
			replicas += n.Replicas
		}
		for _, of := range status.Cluster.Ranges {
			if len(of.Replicas) != want || of.Leader == "" {
				return fmt.Errorf("range %d has replicas on %v, leader %q", of.ID, of.Replicas, of.Leader)
			}
		}
		if n := len(status.Cluster.Ranges); n < ranges || replicas != want*n {
			return fmt.Errorf("%d ranges have %d replicas", n, replicas)
		}
	}
	return nil
}
