package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"
)

// The two halves of a cell, each the only argument of a process of its own.
const (
	childRun     = "cell-run"
	childRecover = "cell-recover"
)

// spec says which cell of the matrix, and in which round.
type spec struct {
	Store   string `json:"store"`
	Groups  int    `json:"groups"`
	Clients int    `json:"clients"`
	Front   bool   `json:"front"` // clients come through the batching front
	Round   int    `json:"round"`
}

// figures are a cell's result.
type figures struct {
	Seconds       float64 `json:"seconds"`
	Commits       int     `json:"commits"`
	PerSecond     float64 `json:"commits_per_s"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Fsyncs        float64 `json:"fsyncs_per_s"`
	Amplification float64 `json:"write_amplification"` // bytes to the disk for each byte of entries and replica
	Processor     float64 `json:"cpu_us_per_commit"`   // of all three nodes, raft and load included
	Truncations   uint64  `json:"truncations"`
	Installed     uint64  `json:"snapshots_installed"` // followers that skipped entries: 0 in a sound cell
	Elections     uint64  `json:"elections"`           // 0 in a sound cell

	Load   float64 `json:"load"`        // of /proc/loadavg, 1 minute, at the window's end
	Own    float64 `json:"cpus_own"`    // processors that the cell got
	Others float64 `json:"cpus_others"` // processors that others and the kernel's threads used

	DiskMiB   float64 `json:"disk_mib"`    // of the three nodes when killed
	RecoverMS float64 `json:"recovery_ms"` // of a node after the kill
}

// message is what a half of a cell is told on its standard input, and what it
// answers on its standard output.
type message struct {
	Spec           spec
	Dir            string
	Entry          int // bytes
	Warmup, Window time.Duration
	Acknowledged   []uint64 // by group
	Figures        figures
}

// child runs a half of a cell. The first half does not end: it waits to be killed.
func child(half string, in io.Reader, out io.Writer) error {
	var m message
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return fmt.Errorf("read task: %w", err)
	}
	// Three nodes would be three processes. A goroutine in an fsync keeps its
	// processor of the scheduler's until that notices, and must not stop other nodes.
	runtime.GOMAXPROCS(nodes * runtime.NumCPU())
	do := m.recover
	if half == childRun {
		do = m.load
	}
	if err := do(); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(m); err != nil {
		return err
	}
	if half == childRun {
		select {}
	}
	return nil
}

// load fills the figures of the window.
func (m *message) load() error {
	c, _, err := openCluster(m.Dir, m.Spec.Store, m.Spec.Groups)
	if err != nil {
		return err
	}
	if err := c.elect(); err != nil {
		return err
	}
	l := &load{cluster: c, clients: m.Spec.Clients, entry: m.Entry, front: m.Spec.Front, warmup: m.Warmup, window: m.Window}
	seen, err := l.run()
	if err != nil {
		return err
	}
	if len(seen.latencies) == 0 {
		return fmt.Errorf("nothing was acknowledged within %v", m.Window)
	}
	m.Acknowledged = seen.acknowledged
	m.Figures = windowFigures(seen, m.Entry)
	average, err := loadAverage()
	if err != nil {
		return err
	}
	_, err = fmt.Sscan(average, &m.Figures.Load)
	return err
}

func windowFigures(seen loaded, entry int) figures {
	n, seconds := float64(len(seen.latencies)), seen.window.Seconds()
	slices.Sort(seen.latencies)
	return figures{
		Seconds: round(seconds, 2), Commits: len(seen.latencies), PerSecond: round(n/seconds, 1),
		P50: milliseconds(quantile(seen.latencies, 0.5)), P99: milliseconds(quantile(seen.latencies, 0.99)),
		Fsyncs:        round(float64(seen.usage.fsyncs)/seconds, 1),
		Amplification: round(float64(seen.usage.written)/(n*float64(entry*nodes)), 2),
		Processor:     round(float64(seen.usage.processor.Microseconds())/n, 1),
		Own:           round(seen.usage.processor.Seconds()/seconds, 2), Others: round((seen.usage.machine-seen.usage.processor).Seconds()/seconds, 2),
		Truncations: seen.usage.truncations, Installed: seen.usage.restores, Elections: seen.usage.terms,
	}
}

// recover opens what a killed process left, and looks for what was acknowledged.
func (m *message) recover() error {
	c, took, err := openCluster(m.Dir, m.Spec.Store, m.Spec.Groups)
	if err != nil {
		return err
	}
	m.Figures.RecoverMS = milliseconds(took)
	for g, group := range c.replicas {
		have := 0
		for _, r := range group {
			if r.LastIndex() >= m.Acknowledged[g] {
				have++
			}
		}
		if have <= nodes/2 {
			return fmt.Errorf("group %d: entry %d was acknowledged, and %d of %d replicas have it", g, m.Acknowledged[g], have, nodes)
		}
	}
	return nil
}

// quantile of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

func milliseconds(d time.Duration) float64 { return round(d.Seconds()*1000, 3) }

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
