package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// result is of one run.
type result struct {
	Date     string   `json:"date"`
	Go       string   `json:"go"`
	CPUs     int      `json:"cpus"`
	Ranges   int      `json:"ranges"`
	Replicas int      `json:"replicas"`
	Clients  int      `json:"clients"`
	Size     int      `json:"command_bytes"`
	Etcd     string   `json:"etcd"` // its version; empty: none was run
	Notes    []string `json:"notes"`
	Cells    []cell   `json:"cells"`
	Logs     []logs   `json:"logs"`
	Parts    []part   `json:"parts"` // of a Corona node's processor time, the largest first
}

// cell is one system in one round, in a window of time.
type cell struct {
	System       string  `json:"system"`
	Round        int     `json:"round"`
	Seconds      float64 `json:"seconds"`
	Commits      int     `json:"commits"`
	Failed       int     `json:"failed"`
	PerSecond    float64 `json:"commits_per_s"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	NodeCPU      float64 `json:"node_cpu_us_per_commit"` // of all nodes, user and system
	ClientCPU    float64 `json:"client_cpu_us_per_commit"`
	Written      float64 `json:"written_bytes_per_commit"` // to the disk, by all nodes
	Resident     float64 `json:"resident_mb_per_node"`     // at the end of the window
	Acknowledged uint64  `json:"acknowledged"`             // since the nodes' start: what Resident holds
	EntryBytes   float64 `json:"entry_bytes_per_command"`  // in the log, with what tells commands apart; 0: not known
	Elections    int     `json:"elections"`                // that were won in the window; etcd: that nodes have seen
	Load         string  `json:"load"`                     // of the machine, 1, 5 and 15 minutes
}

// run runs round after round, in each all systems, in turn of their order.
func run(ctx context.Context, o options) (*result, error) {
	r := &result{
		Date: time.Now().Format(time.DateOnly), Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Ranges: o.ranges, Replicas: o.replicas, Clients: o.clients, Size: o.size,
	}
	systems, store, err := r.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if store != "" {
		defer os.Remove(store)
	}
	for round := range o.rounds {
		for i := range systems {
			system := systems[(i+round)%len(systems)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, system)
			if system == systemLogs {
				err = r.runLogs(ctx, o, store, round)
			} else {
				err = r.runCell(ctx, o, system, round)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", system, err)
			}
		}
	}
	return r, nil
}

// prepare returns the systems that can be run here, and says of the others why not. The
// store is the program of benchmarks/logstores, empty if it is not run.
func (r *result) prepare(ctx context.Context, o options) (systems []string, store string, err error) {
	systems = slices.Clone(o.systems)
	drop := func(system, why string) {
		r.note("%s was not run: %s", system, why)
		systems = slices.DeleteFunc(systems, func(s string) bool { return s == system })
	}
	if slices.Contains(systems, systemEtcd) {
		if version, err := exec.CommandContext(ctx, "etcd", "--version").Output(); err != nil {
			drop(systemEtcd, fmt.Sprintf("%v (Debian has it as etcd-server)", err))
		} else {
			r.Etcd, _, _ = strings.Cut(string(version), "\n")
		}
	}
	if slices.Contains(systems, systemLogs) && o.replicas != logNodes {
		drop(systemLogs, fmt.Sprintf("benchmarks/logstores has %d nodes", logNodes))
	}
	if slices.Contains(systems, systemLogs) {
		if store, err = buildLogs(ctx, o.dir); err != nil {
			drop(systemLogs, err.Error())
		}
	}
	if len(systems) == 0 {
		return nil, "", errors.New(strings.Join(append(r.Notes, "there is nothing to run"), "; "))
	}
	return systems, store, nil
}

func (r *result) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, text)
	r.Notes = append(r.Notes, text)
}

// runCell measures one system on directories of its own.
func (r *result) runCell(ctx context.Context, o options, system string, round int) (err error) {
	dir, err := os.MkdirTemp(o.dir, "replicated-")
	if err != nil {
		return err
	}
	if o.keep {
		r.note("round %d, %s: kept %s", round+1, system, dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	start, c := startCorona, commands(newSubscriptions(o.size))
	if system == systemEtcd {
		start, c = startEtcd, newPuts(o.size)
	}
	nodes, err := start(ctx, dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	if nodes.note != "" {
		r.note("round %d, %s: %s", round+1, system, nodes.note)
	}
	measured, err := r.measure(ctx, o, nodes, c, system == systemCorona && round == o.rounds-1)
	if err != nil {
		return err
	}
	measured.System, measured.Round = system, round+1
	r.Cells = append(r.Cells, measured)
	fmt.Fprintf(os.Stderr, "  %.0f commits/s, node CPU %.0f µs\n", measured.PerSecond, measured.NodeCPU)
	return nil
}

// measure loads nodes and returns what a window saw; with profiled, also what one node's
// processor time goes to, after the window.
func (r *result) measure(ctx context.Context, o options, nodes *cluster, c commands, profiled bool) (cell, error) {
	l := newLoad(c, nodes.commands, nodes.certificates.client, o.clients, o.connections)
	l.begin(ctx)
	defer l.end()
	if err := wait(ctx, o.warmup); err != nil {
		return cell{}, err
	}
	before, err := nodes.usage(ctx)
	if err != nil {
		return cell{}, err
	}
	began := time.Now()
	l.phase.Store(measuring)
	if err := wait(ctx, o.window); err != nil {
		return cell{}, err
	}
	l.phase.Store(measured)
	took := time.Since(began)
	after, err := nodes.usage(ctx)
	if err != nil {
		return cell{}, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return cell{}, err
	}
	if profiled {
		if r.Parts, err = profileNode(ctx, nodes.admin[0], o.profile); err != nil {
			return cell{}, err
		}
	}
	all := l.end()
	if len(all.latencies) == 0 {
		return cell{}, fmt.Errorf("nothing was acknowledged within %s: %w", o.window, all.failure)
	}
	if all.failure != nil {
		r.note("%d commands failed in a window, the last before or in it with: %v", all.failed, all.failure)
	}
	entry, err := nodes.verify(ctx, all.acknowledged)
	if err != nil {
		return cell{}, err
	}
	n := float64(len(all.latencies))
	return cell{
		Seconds: took.Seconds(), Commits: len(all.latencies), Failed: all.failed, PerSecond: n / took.Seconds(),
		P50: quantile(all.latencies, 0.5), P99: quantile(all.latencies, 0.99),
		NodeCPU:   float64((after.nodes - before.nodes).Microseconds()) / n,
		ClientCPU: float64((after.clients - before.clients).Microseconds()) / n,
		Written:   float64(after.written-before.written) / n, Resident: float64(after.resident) / 1e6 / float64(len(nodes.processes)),
		Elections:    int(after.elections - before.elections),
		Acknowledged: all.acknowledged, EntryBytes: entry, Load: strings.Join(strings.Fields(string(load))[:3], " "),
	}, nil
}
