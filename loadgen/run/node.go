package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// node is a child process, and what it has used so far.
type node struct {
	name, url, data string
	logName         string

	mu      sync.Mutex // of the process, which one goroutine at a time may do something to
	process *child.Process
	away    bool // killed, stopped or suspended on purpose

	used struct {
		sync.Mutex
		before time.Duration // processor time of processes that have ended
		now    time.Duration // of the one that runs
		most   int64         // resident bytes
	}
}

// startNodes starts them, or finds the targets.
func (r *run) startNodes(ctx context.Context) error {
	if len(r.Scenario.Target) > 0 {
		return r.findTargets(ctx)
	}
	nodes, err := r.makeNodes(ctx)
	r.nodes = nodes
	if err != nil {
		return err
	}
	for _, n := range r.nodes {
		if err := n.process.Start(); err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
	}
	for _, n := range r.nodes {
		if err := child.AwaitURL(ctx, n.url+"/readyz", n.process); err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
		client, err := api.NewClient(n.url, nil)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, client)
	}
	return r.readVersion(ctx)
}

func (r *run) readVersion(ctx context.Context) error {
	status, err := r.clients[0].Status(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNode, err)
	}
	r.result.Version = status.Version
	return nil
}

// makeNodes makes their command lines. Nodes that are there when it fails are returned.
func (r *run) makeNodes(ctx context.Context) (nodes []*node, err error) {
	count := r.Scenario.Nodes.Count
	addresses := make([]string, 3*count) // of the API, of the cluster, of gossip
	for i := range addresses {
		if addresses[i], err = child.OwnAddress(ctx); err != nil {
			return nil, err
		}
	}
	gossip := addresses[2*count:]
	for i := range count {
		data, err := makeData()
		if err != nil {
			return nodes, err
		}
		n := &node{name: "n" + strconv.Itoa(i+1), url: "http://" + addresses[i], data: data, logName: r.logName(i + 1)}
		nodes = append(nodes, n)
		args := []string{"serve", "--listen", addresses[i], "--data", data, "--name", n.name, "--allow-private", "--log-level", "warn"}
		if count > 1 {
			args = append(args, "--cluster", addresses[count+i], "--gossip", gossip[i], "--join", strings.Join(gossip, ","), "--bootstrap-expect", strconv.Itoa(count))
		}
		if n.process, err = child.New(n.logName, r.Binary, append(args, r.Scenario.Nodes.Args...)...); err != nil {
			return nodes, err
		}
		n.process.Bound = true
		if r.Scenario.Origins.TLS {
			n.process.Env = []string{"SSL_CERT_FILE=" + r.caFile()} // which crypto/x509 takes for the system's
		}
	}
	return nodes, nil
}

// findTargets asks the targets who they are, and what they were told to optimise.
func (r *run) findTargets(ctx context.Context) error {
	for _, target := range r.Scenario.Target {
		client, err := api.NewClient(target, nil)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		r.clients = append(r.clients, client)
	}
	if err := r.readVersion(ctx); err != nil {
		return err
	}
	r.note("nodes that the generator did not start: nothing is known of their processors and memory; the plan is by nodes.args")
	settings, err := settingsOf(ctx, r.clients[0])
	if err == nil && settings.Interval > 0 {
		settings.Nodes = len(r.clients)
		r.settings = settings
	}
	return err
}

// alive returns an error when a node ended that was to live.
func (r *run) alive() error {
	for _, n := range r.nodes {
		if err := n.alive(); err != nil {
			return fmt.Errorf("%w %s: %w", ErrNode, n.name, err)
		}
	}
	return nil
}

func (n *node) alive() error {
	if !n.mu.TryLock() {
		return nil // something is being done to it
	}
	defer n.mu.Unlock()
	if n.away {
		return nil
	}
	return n.process.Alive()
}

// do does what an event says.
func (n *node) do(ctx context.Context, what string) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch what {
	case scenario.Kill:
		n.away = true
		return n.process.Kill()
	case scenario.Stop:
		n.away = true
		return n.process.Stop()
	case scenario.Pause:
		n.away = true
		return n.process.Pause()
	case scenario.Resume:
		err = n.process.Resume()
	case scenario.Start:
		if n.process.Alive() == nil {
			return errors.New("it runs")
		}
		n.keep()
		if err = n.process.Start(); err == nil {
			err = child.AwaitURL(ctx, n.url+"/readyz", n.process)
		}
	}
	n.away = n.process.Alive() != nil
	return err
}

// keep adds what the process that has ended used.
func (n *node) keep() {
	n.used.Lock()
	defer n.used.Unlock()
	n.used.before, n.used.now = n.used.before+n.used.now, 0
}

// sample reads what the process uses, and returns all that the node has used.
func (n *node) sample() (used time.Duration, resident int64) {
	n.used.Lock()
	defer n.used.Unlock()
	if n.process.Alive() == nil {
		if now, err := process.CPUTime(n.process.PID()); err == nil {
			n.used.now = max(n.used.now, now)
		}
		if bytes, err := process.Resident(n.process.PID()); err == nil {
			resident = bytes
			n.used.most = max(n.used.most, bytes)
		}
	}
	return n.used.before + n.used.now, resident
}

// stop ends a node in order, if it runs.
func (n *node) stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away || n.process == nil || n.process.Alive() != nil {
		return nil
	}
	return n.process.Stop()
}

// close kills what is left and removes the data.
func (n *node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.process != nil {
		err = n.process.Close()
	}
	return errors.Join(err, os.RemoveAll(n.data))
}

// readRates reads the rates of all channels from a node that answers.
func (r *run) readRates(ctx context.Context) {
	rates, numbers := make([]float64, r.origin.Channels()), make(map[channel.ID]int, r.origin.Channels())
	for n := range rates {
		numbers[channel.IDOf(r.origin.URL(n))] = n
	}
	var err error
	for _, client := range r.clients {
		if err = readRates(ctx, client, numbers, rates); err == nil {
			r.rates = rates
			return
		}
	}
	r.note("plan_over_bound is not known: no node told its channels' rates: %v", err)
}

func readRates(ctx context.Context, client *api.Client, numbers map[channel.ID]int, rates []float64) error {
	for ch, err := range client.Channels(ctx) {
		if err != nil {
			return err
		}
		if n, ours := numbers[ch.ID]; ours {
			rates[n] = ch.Rate
		}
	}
	return nil
}
