package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/pprof/profile"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/scrape"
)

// probe measures what the scenario wants of the first node, or of all, when nothing is judged any more.
func (r *run) probe(ctx context.Context) (err error) {
	for _, what := range r.Scenario.Probes {
		n := r.cluster.nodes[0]
		switch what {
		case scenario.Memory:
			r.result.Memory, err = probeMemory(ctx, n, len(r.places))
		case scenario.Lists:
			channels, subscriptions := r.subscriber.crowd.lasting()
			r.result.Lists, err = probeLists(ctx, n, channels, subscriptions)
		case scenario.Restart:
			r.result.Restart, err = r.probeRestart(ctx, n)
		case scenario.Backup:
			r.result.Backup, err = r.probeBackup(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", what, n.name, err)
		}
	}
	return nil
}

// probeMemory asks a node where its memory is.
func probeMemory(ctx context.Context, n *node, channels int) (*result.Memory, error) {
	content, err := profiles.Fetch(ctx, n.url, "", profiles.Live, 0)
	if err != nil {
		return nil, err
	}
	heap, err := profile.ParseData(content)
	if err != nil {
		return nil, err
	}
	m := new(result.Memory)
	if m.Packages, err = profiles.LiveByPackage(heap); err != nil {
		return nil, err
	}
	for _, bytes := range m.Packages {
		m.Live += bytes
	}
	metrics, err := scrape.Read(ctx, n.url)
	if err != nil {
		return nil, err
	}
	m.RSS = n.sample().resident
	m.PerChannel = float64(m.RSS) / float64(channels)
	of := func(name string) int64 { return int64(metrics.Sum("go_memstats_" + name + "_bytes")) }
	taken := of("sys") - of("heap_released")
	m.Stacks = of("stack_inuse")
	m.Runtime = of("sys") - of("heap_sys") - m.Stacks
	m.Free = taken - m.Stacks - m.Runtime - m.Live
	m.Outside = m.RSS - taken
	return m, nil
}

// probeRestart stops the node and starts it, kills it and starts it.
func (r *run) probeRestart(ctx context.Context, n *node) (_ *result.Restart, err error) {
	out := new(result.Restart)
	seconds := func(do string) float64 {
		begun := time.Now()
		if err == nil {
			err = n.do(ctx, do)
		}
		return time.Since(begun).Seconds()
	}
	out.StopS, out.StartS = seconds(scenario.Stop), seconds(scenario.Start)
	if err != nil {
		return nil, err
	}
	from := time.Now()
	if err := pause(ctx, from.Add(time.Minute)); err != nil {
		return nil, err
	}
	for _, p := range r.tracker.Series.Points(time.Now()) {
		if second := r.begun.Add(time.Duration(p.S) * time.Second); second.After(from) {
			out.PeakPerS = max(out.PeakPerS, p.Polls)
		}
	}
	out.RSS = n.sample().resident
	seconds(scenario.Kill)
	out.KilledStartS = seconds(scenario.Start)
	return out, err
}

// backupFile is where a backup lies until it is restored.
const backupFile = "backup"

// probeBackup takes a backup of the nodes, makes fresh ones of them, restores it there, and
// compares the subscribers that these tell with those that were acknowledged.
func (r *run) probeBackup(ctx context.Context) (*result.Backup, error) {
	r.subscriber.over.Store(true)
	file := filepath.Join(r.Out, backupFile)
	defer os.Remove(file)
	out := new(result.Backup)
	var err error
	if out.Seconds, err = r.corona(ctx, "backup", file); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	out.Bytes = info.Size()
	if err := r.cluster.foundAnew(ctx); err != nil {
		return nil, err
	}
	if out.RestoreS, err = r.corona(ctx, "restore", file); err != nil {
		return nil, err
	}
	_, lost, extra, err := r.compareTold(ctx)
	if err == nil {
		out.Lost, out.Extra = &lost, &extra
	}
	return out, err
}

// corona runs a command of the program against the first node.
func (r *run) corona(ctx context.Context, args ...string) (seconds float64, err error) {
	begun := time.Now()
	said, err := exec.CommandContext(ctx, r.Binary, append(args, "--server", r.cluster.nodes[0].url)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("corona %s: %w: %s", args[0], err, bytes.TrimSpace(said))
	}
	return time.Since(begun).Seconds(), nil
}
