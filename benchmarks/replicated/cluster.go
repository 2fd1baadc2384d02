package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// cluster is nodes that run. Whoever starts one closes it.
type cluster struct {
	processes    []*child.Process
	certificates *certificates
	commands     []string // base URLs for clients, by node
	admin        []string // base URLs for metrics, by node
	applied      string   // the metric of a node's applied commands
	proposed     string   // the metric of the bytes of log entries a node has proposed; empty: none
	elected      string   // the metric of the elections a node has won or seen
	note         string   // what the result should say of it
}

func (c *cluster) close() error {
	var errs []error
	for _, p := range c.processes {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// begin starts one more process.
func (c *cluster) begin(log, binary string, args ...string) error {
	p, err := child.Begin(log, binary, args...)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

// addresses returns so many addresses of this machine on which no process listens.
func addresses(ctx context.Context, n int) (all []string, err error) {
	for range n {
		address, err := child.OwnAddress(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, nil
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("node-", i+1))
	}
	return all
}

const (
	readyWithin = time.Minute
	// balancedWithin bounds the wait for evenly spread leaders: a node gives back one
	// range in five seconds.
	balancedWithin = 3 * time.Minute
	askWithin      = 10 * time.Second
)

// startCorona starts nodes that have their directories under dir, and returns when each
// leads its share of the ranges.
func startCorona(ctx context.Context, dir string, o options) (_ *cluster, err error) {
	const perNode = 4 // addresses
	free, err := addresses(ctx, perNode*o.replicas)
	if err != nil {
		return nil, err
	}
	c := &cluster{applied: "corona_ownership_commands_total", proposed: "corona_ownership_entry_bytes_total", elected: "corona_ownership_elections_won_total"}
	certs := filepath.Join(dir, "certs")
	if c.certificates, err = makeCertificates(certs, names(o.replicas), free); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	gossip := free[:o.replicas]
	for i, name := range names(o.replicas) {
		own := free[o.replicas+3*i:]
		config, err := json.Marshal(nodeConfig{
			Name: name, Dir: filepath.Join(dir, name), Certs: certs, Ranges: o.ranges, Replicas: o.replicas,
			Gossip: gossip[i], Join: gossip, Peers: own[0], Clients: own[1], Admin: own[2],
			Lifetime: o.warmup + o.window + 10*time.Minute,
		})
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			return nil, err
		}
		c.commands, c.admin = append(c.commands, "https://"+own[1]), append(c.admin, "http://"+own[2])
		if err := c.begin(filepath.Join(dir, name+".log"), program, nodeArgument, file); err != nil {
			return nil, err
		}
	}
	return c, c.awaitLeads(ctx, o)
}

// awaitLeads waits until every node leads its share of the ranges, or until it has had
// the time for that: then no range is handed over under load.
func (c *cluster) awaitLeads(ctx context.Context, o options) error {
	share := o.ranges / o.replicas
	began := time.Now()
	var leads []int
	err := child.Await(ctx, "leaders of all ranges", readyWithin+balancedWithin, func() (bool, error) {
		leads = leads[:0]
		sum := 0
		for _, admin := range c.admin {
			text, err := get(ctx, admin+leadsPath, askWithin)
			if err != nil {
				return false, nil // not yet
			}
			n, err := strconv.Atoi(string(text))
			if err != nil {
				return false, err
			}
			leads, sum = append(leads, n), sum+n
		}
		return sum == o.ranges && (slices.Min(leads) >= share || time.Since(began) > balancedWithin), nil
	}, c.processes...)
	c.note = fmt.Sprintf("ranges led by each node %v after %.0f s", leads, time.Since(began).Seconds())
	return err
}

func get(ctx context.Context, url string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	const most = 64 << 20
	content, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, response.Status, content)
	}
	return content, err
}

// startEtcd starts nodes of etcd that have their directories under dir, and returns when
// all are healthy.
func startEtcd(ctx context.Context, dir string, o options) (_ *cluster, err error) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return nil, err
	}
	const perNode = 3 // addresses
	free, err := addresses(ctx, perNode*o.replicas)
	if err != nil {
		return nil, err
	}
	c := &cluster{applied: "etcd_server_proposals_applied_total", elected: "etcd_server_leader_changes_seen_total"}
	if c.certificates, err = makeCertificates(filepath.Join(dir, "certs"), names(o.replicas), free); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	var all []string
	for i, name := range names(o.replicas) {
		all = append(all, name+"=https://"+free[perNode*i])
	}
	certificate, key, ca := c.certificates.file(addressFile), c.certificates.file(addressKeyFile), c.certificates.file(caFile)
	for i, name := range names(o.replicas) {
		own := free[perNode*i:]
		peers, clients, admin := "https://"+own[0], "https://"+own[1], "http://"+own[2]
		c.commands, c.admin = append(c.commands, clients), append(c.admin, admin)
		err := c.begin(filepath.Join(dir, name+".log"), program,
			"--name", name, "--data-dir", filepath.Join(dir, name), "--listen-metrics-urls", admin,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--listen-client-urls", clients, "--advertise-client-urls", clients,
			"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new",
			"--cert-file", certificate, "--key-file", key, "--trusted-ca-file", ca,
			"--peer-cert-file", certificate, "--peer-key-file", key, "--peer-trusted-ca-file", ca, "--peer-client-cert-auth")
		if err != nil {
			return nil, err
		}
	}
	return c, child.Await(ctx, "a healthy etcd", readyWithin, func() (bool, error) {
		for _, admin := range c.admin {
			if _, err := get(ctx, admin+"/health", askWithin); err != nil {
				return false, nil // not yet
			}
		}
		return true, nil
	}, c.processes...)
}

// usage is what all nodes of a cluster have used so far, and the clients.
type usage struct {
	nodes, clients time.Duration // of the processors
	written        int64         // bytes sent to the disk
	resident       int64         // bytes of the nodes in memory now
	elections      float64       // that nodes have won, or seen
}

func (c *cluster) usage(ctx context.Context) (u usage, err error) {
	for _, admin := range c.admin {
		metrics, err := scrape.Read(ctx, admin)
		if err != nil {
			return u, err
		}
		u.elections += metrics.Sum(c.elected)
	}
	if u.clients, err = process.CPUTime(os.Getpid()); err != nil {
		return u, err
	}
	for _, p := range c.processes {
		processor, err := process.CPUTime(p.PID())
		if err != nil {
			return u, err
		}
		written, err := process.Written(p.PID())
		if err != nil {
			return u, err
		}
		resident, err := process.Resident(p.PID())
		if err != nil {
			return u, err
		}
		u.nodes, u.written, u.resident = u.nodes+processor, u.written+written, u.resident+resident
	}
	return u, nil
}

// verify returns nil once every node has applied as many commands as were acknowledged,
// and with them the bytes of a command's log entry, if the nodes tell.
func (c *cluster) verify(ctx context.Context, acknowledged uint64) (entryBytes float64, err error) {
	var applied, proposed float64
	err = child.Await(ctx, "all nodes to apply what was acknowledged", readyWithin, func() (bool, error) {
		applied, proposed = 0, 0
		least := float64(acknowledged)
		for _, admin := range c.admin {
			metrics, err := scrape.Read(ctx, admin)
			if err != nil {
				return false, err
			}
			count := metrics.Sum(c.applied)
			applied, proposed, least = applied+count, proposed+metrics.Sum(c.proposed), min(least, count)
		}
		return least >= float64(acknowledged), nil
	}, c.processes...)
	if c.proposed == "" || applied == 0 {
		return 0, err
	}
	return proposed / (applied / float64(len(c.admin))), err
}
