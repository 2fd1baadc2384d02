package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdicts on a criterion.
const (
	passed    = "PASS"
	failed    = "FAIL"
	notJudged = "not judged"
)

type criterion struct {
	verdict, text string
}

// Criteria: the least ratios, the first of which must be exceeded.
const (
	overEtcd = 1.0
	overFile = 3.0
)

// criteria are judged by the median of the rounds' ratios.
func (r *result) criteria() []criterion {
	etcd := r.ratios(systemCorona, systemEtcd, func(c cell) float64 { return c.PerSecond })
	file := r.logRatios(false, func(l logs) float64 { return l.PerSecond })
	return []criterion{
		judge(etcd, func(m float64) bool { return m > overEtcd }, "corona makes more commits/s than etcd"),
		judge(file, func(m float64) bool { return m >= overFile }, "the shared log makes at least 3 times the commits/s of a raft-boltdb file per group"),
	}
}

func judge(ratios []float64, met func(float64) bool, text string) criterion {
	switch {
	case len(ratios) == 0:
		return criterion{notJudged, text}
	case met(median(ratios)):
		return criterion{passed, text + ": " + spread(ratios)}
	}
	return criterion{failed, text + ": " + spread(ratios)}
}

// ratios of one system's figure to another's, by round.
func (r *result) ratios(of, to string, figure func(cell) float64) (ratios []float64) {
	for _, c := range r.Cells {
		for _, other := range r.Cells {
			if c.System == of && other.System == to && c.Round == other.Round {
				ratios = append(ratios, figure(c)/figure(other))
			}
		}
	}
	return ratios
}

// logRatios are those of the shared log's figure to a file's for each group, by round.
func (r *result) logRatios(front bool, figure func(logs) float64) (ratios []float64) {
	for _, l := range r.Logs {
		for _, other := range r.Logs {
			if l.Store == storePebble && other.Store == storeFile && l.Round == other.Round && l.Front == front && other.Front == front {
				ratios = append(ratios, figure(l)/figure(other))
			}
		}
	}
	return ratios
}

// spread is the median of at least one ratio, with the least and the most.
func spread(ratios []float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// median of at least one value; of an even number the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// text is the result in Markdown: medians over the rounds.
func (r *result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %d processors; %d ranges, %d replicas, %d clients, commands of %d bytes; %s\n",
		r.Date, r.Go, r.CPUs, r.Ranges, r.Replicas, r.Clients, r.Size, r.Etcd)
	b.WriteString("corona: a subscription with a webhook, in the log as below; etcd: a Put of a new key, key and value together. The clients are a process of their own.\n" +
		"All nodes have applied every command that was acknowledged. CPU: processor time for a commit, of all nodes together.\n\n")
	r.cellTable(&b)
	r.logTable(&b)
	if len(r.Parts) > 0 {
		b.WriteString("\nprocessor time of one corona node, largest parts:\n")
		for i, p := range r.Parts {
			fmt.Fprintf(&b, "  %d. %2.0f %% %s\n", i+1, 100*p.Share, p.Name)
		}
	}
	b.WriteString("\n")
	for _, note := range r.Notes {
		fmt.Fprintln(&b, "note:", note)
	}
	for _, c := range r.criteria() {
		fmt.Fprintf(&b, "%s: %s\n", c.verdict, c.text)
	}
	return b.String()
}

func (r *result) cellTable(b *strings.Builder) {
	b.WriteString("| system | commits/s (least–most) | p50 ms | p99 ms | node CPU µs | client CPU µs | written bytes | MB a node, after commits | failed | elections | load |\n|---|---|---:|---:|---:|---:|---:|---|---:|---:|---|\n")
	for _, system := range []string{systemCorona, systemEtcd} {
		var cells []cell
		for _, c := range r.Cells {
			if c.System == system {
				cells = append(cells, c)
			}
		}
		if len(cells) > 0 {
			cellRow(b, system, cells)
		}
	}
	if speed := r.ratios(systemCorona, systemEtcd, func(c cell) float64 { return c.PerSecond }); len(speed) > 0 {
		cost := r.ratios(systemEtcd, systemCorona, func(c cell) float64 { return c.NodeCPU })
		fmt.Fprintf(b, "\ncorona against etcd: %s times the commits/s, %s times the commits for the same processor time of nodes\n", spread(speed), spread(cost))
	}
	least := math.Inf(1) // more where entries were proposed again, after an election
	for _, c := range r.Cells {
		if c.EntryBytes > 0 {
			least = min(least, c.EntryBytes)
		}
	}
	if !math.IsInf(least, 1) {
		fmt.Fprintf(b, "entry bytes: a command of corona takes %.1f of its log entry, %d of them the entry's own\n", least, entryHead)
	}
}

// entryHead is the bytes before each command in a log entry.
const entryHead = 3

func cellRow(b *strings.Builder, system string, cells []cell) {
	all := func(figure func(cell) float64) (values []float64) {
		for _, c := range cells {
			values = append(values, figure(c))
		}
		return values
	}
	speed := all(func(c cell) float64 { return c.PerSecond })
	failed, elections, load := 0, 0, ""
	for _, c := range cells {
		failed, elections = failed+c.Failed, elections+c.Elections
		first, _, _ := strings.Cut(c.Load, " ")
		load += " " + first
	}
	fmt.Fprintf(b, "| %s | %.0f (%.0f–%.0f) | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f, %.0f | %d | %d | %s |\n",
		system, median(speed), slices.Min(speed), slices.Max(speed),
		median(all(func(c cell) float64 { return c.P50 })), median(all(func(c cell) float64 { return c.P99 })),
		median(all(func(c cell) float64 { return c.NodeCPU })), median(all(func(c cell) float64 { return c.ClientCPU })),
		median(all(func(c cell) float64 { return c.Written })), median(all(func(c cell) float64 { return c.Resident })),
		median(all(func(c cell) float64 { return float64(c.Acknowledged) })), failed, elections, strings.TrimSpace(load))
}

func (r *result) logTable(b *strings.Builder) {
	if len(r.Logs) == 0 {
		return
	}
	b.WriteString("\nlogs, by benchmarks/logstores: three nodes in one process, raft's transport in memory, clients that propose to leaders\n\n" +
		"| log | clients | commits/s | p50 ms | p99 ms | CPU µs, clients included |\n|---|---|---:|---:|---:|---:|\n")
	for _, front := range []bool{false, true} {
		for _, store := range []string{storePebble, storeFile} {
			r.logRow(b, store, front)
		}
		speed, cost := r.logRatios(front, func(l logs) float64 { return l.PerSecond }), r.logRatios(front, func(l logs) float64 { return 1 / l.Processor })
		if len(speed) > 0 {
			fmt.Fprintf(b, "| ratio | %s | %s | | | %s |\n", way(front), spread(speed), spread(cost))
		}
	}
}

func (r *result) logRow(b *strings.Builder, store string, front bool) {
	var speed, p50, p99, cost []float64
	for _, l := range r.Logs {
		if l.Store == store && l.Front == front {
			speed, p50, p99, cost = append(speed, l.PerSecond), append(p50, l.P50), append(p99, l.P99), append(cost, l.Processor)
		}
	}
	if len(speed) == 0 {
		return
	}
	name := map[string]string{storePebble: "shared (pebble)", storeFile: "raft-boltdb file per group"}[store]
	fmt.Fprintf(b, "| %s | %s | %.0f | %.1f | %.1f | %.0f |\n", name, way(front), median(speed), median(p50), median(p99), median(cost))
}

func way(front bool) string {
	if front {
		return "behind a node's batches"
	}
	return "each entry a command"
}
