//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// calmOptions say what is watched while nothing happens.
type calmOptions struct {
	window                  time.Duration // 0: faults are measured instead
	nodes, ranges, channels int
	costs                   string // file; "": none
}

// The limits of nodes without faults: the first two without channels.
const (
	idleProcessor = 4.0 // percent of one processor, of each node
	idleResident  = 300 // MB of each node
	pollEvery     = 10 * time.Second
	changeEvery   = time.Minute // of each channel
	settledWithin = 3 * time.Minute
	importWithin  = 5 * time.Minute
	elected       = "corona_ownership_elections_won_total"
	polled        = "corona_engine_polls_total"
)

// used is what a node has used so far, and what it has counted.
type used struct {
	processor        time.Duration
	resident         int64 // bytes
	sent             int64 // bytes, to nodes and clients
	elections, polls float64
}

// watch watches nodes to which nothing happens, and reports whether they keep the limits.
func (o *options) watch(ctx context.Context, program, folder string, out io.Writer) (kept bool, err error) {
	c, err := cluster.New(ctx, cluster.Config{Program: program, Folder: folder, Nodes: o.calm.nodes, Args: []string{
		"--ranges", fmt.Sprint(o.calm.ranges), "--interval", pollEvery.String(), "--disk-reserve", fmt.Sprint(64 << 20)}})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Start(ctx); err != nil {
		return false, err
	}
	if o.calm.channels > 0 {
		end, err := o.subscribe(ctx, program, folder, c)
		if err != nil {
			return false, err
		}
		defer end()
	}
	if err := c.Settled(ctx, settledWithin); err != nil {
		return false, err
	}
	before, err := use(ctx, c)
	if err != nil {
		return false, err
	}
	began := time.Now()
	pause(ctx, o.calm.window)
	after, err := use(ctx, c)
	if err != nil {
		return false, err
	}
	took := time.Since(began)
	kept = o.calm.report(out, took, before, after)
	return kept, errors.Join(ctx.Err(), o.calm.note(took, before, after))
}

// note writes what idle nodes cost to a file, if there is one.
func (o calmOptions) note(took time.Duration, before, after []used) error {
	i := costs.Idle{Nodes: o.nodes, Ranges: o.ranges, Run: costs.Now("failover")}
	each := 1 / float64(len(after))
	for n, a := range after {
		i.Processor += (a.processor - before[n].processor).Seconds() / took.Seconds() * each
		i.Sent += float64(a.sent-before[n].sent) / took.Seconds() * each
		i.Resident += float64(a.resident) * each
	}
	return costs.Update(o.costs, func(f *costs.File) { f.PutIdle(i) })
}

// subscribe serves channels that change now and then, and subscribes to them.
func (o *options) subscribe(ctx context.Context, program, folder string, c *cluster.Cluster) (end func(), err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(cluster.Host, "0"))
	if err != nil {
		return nil, err
	}
	origin := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>The news is %x.", r.URL.Path, sha256.Sum256(binary.AppendVarint(nil, time.Now().Unix()/int64(changeEvery.Seconds()))))
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = origin.Serve(listener) }) // ends with Close
	end = func() {
		_ = origin.Close()
		serving.Wait()
	}
	var urls strings.Builder
	for i := range o.calm.channels {
		fmt.Fprintf(&urls, "http://%s/%d\n", listener.Addr(), i)
	}
	list := filepath.Join(folder, "channels.txt")
	if err := os.WriteFile(list, []byte(urls.String()), 0o600); err != nil {
		end()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, importWithin)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program, "import", list, "--server", c.Nodes[0].API).CombinedOutput(); err != nil {
		end()
		return nil, fmt.Errorf("corona import: %w: %s", err, out)
	}
	return end, nil
}

func use(ctx context.Context, c *cluster.Cluster) (all []used, err error) {
	for _, node := range c.Nodes {
		if err := node.Alive(); err != nil {
			return nil, err
		}
		metrics, err := scrape.Read(ctx, node.API)
		if err != nil {
			return nil, err
		}
		u := used{elections: metrics.Sum(elected), polls: metrics.Sum(polled)}
		if u.resident, err = process.Resident(node.PID()); err != nil {
			return nil, err
		}
		if u.processor, err = process.CPUTime(node.PID()); err != nil {
			return nil, err
		}
		if u.sent, err = process.Sent(node.PID()); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// report prints a row for each node, and reports whether the limits are kept.
func (o calmOptions) report(out io.Writer, took time.Duration, before, after []used) (kept bool) {
	elections, polls := 0.0, 0.0
	busiest, largest := 0.0, 0.0
	fmt.Fprintf(out, "%-5s %15s %12s %10s %8s\n", "node", "of a processor", "in memory", "elections", "polls/s")
	for i, b := range before {
		a := after[i]
		share := 100 * (a.processor - b.processor).Seconds() / took.Seconds()
		resident := float64(a.resident) / 1e6
		busiest, largest = max(busiest, share), max(largest, resident)
		elections, polls = elections+a.elections-b.elections, polls+a.polls-b.polls
		fmt.Fprintf(out, "%-5s %13.2f %% %9.0f MB %10.0f %8.1f\n", fmt.Sprintf("n%d", i+1), share, resident, a.elections-b.elections, (a.polls-b.polls)/took.Seconds())
	}
	kept = elections == 0 && (o.channels == 0 && busiest <= idleProcessor && largest <= idleResident || o.channels > 0 && polls > 0)
	verdict := "kept"
	if !kept {
		verdict = "MISSED"
	}
	limits := fmt.Sprintf("no election beside polls of %d channels", o.channels)
	if o.channels == 0 {
		limits = fmt.Sprintf("no election, at most %.0f %% of a processor and %d MB a node", idleProcessor, idleResident)
	}
	fmt.Fprintf(out, "%s, %d ranges: %s: %s\n", took.Round(time.Second), o.ranges, limits, verdict)
	return kept
}
