package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// logs is one cell of benchmarks/logstores: three nodes in one process, raft's transport
// in memory, without TLS; clients propose to leaders.
type logs struct {
	Store     string  `json:"store"` // file: raft-boltdb for each group; pebble: Corona's
	Front     bool    `json:"front"` // behind a node's batching front
	Round     int     `json:"round"`
	PerSecond float64 `json:"commits_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Processor float64 `json:"cpu_us_per_commit"` // raft and clients included
}

// logNodes is how many nodes benchmarks/logstores has.
const logNodes = 3

const (
	storeFile   = "file"
	storePebble = "pebble"
)

// buildLogs builds the other benchmark, a module of its own, and returns the program.
func buildLogs(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	file, err := os.CreateTemp(dir, "logstores-")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", file.Name(), ".")
	build.Dir = filepath.Join(strings.TrimSpace(string(root)), "benchmarks", "logstores")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build logstores: %w\n%s", err, out), os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// runLogs runs both stores in turn, straight and behind the front, which it has where
// there are more clients than groups.
func (r *result) runLogs(ctx context.Context, o options, program string, round int) (err error) {
	dir, err := os.MkdirTemp(o.dir, "replicated-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	order := storePebble + "," + storeFile
	if round%2 == 1 {
		order = storeFile + "," + storePebble
	}
	out := filepath.Join(dir, "result.json")
	command := exec.CommandContext(ctx, program, "-stores", order, "-groups", fmt.Sprint(o.ranges), "-clients", fmt.Sprint(o.clients),
		"-front", "-count", "1", "-entry", fmt.Sprint(o.size), "-warmup", o.warmup.String(), "-window", o.window.String(), "-dir", dir, "-out", out)
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	var told struct{ Cells []logs }
	if err := json.Unmarshal(content, &told); err != nil {
		return err
	}
	for _, c := range told.Cells {
		c.Round = round + 1
		r.Logs = append(r.Logs, c)
		fmt.Fprintf(os.Stderr, "  %s, front %t: %.0f commits/s, CPU %.0f µs\n", c.Store, c.Front, c.PerSecond, c.Processor)
	}
	return nil
}
