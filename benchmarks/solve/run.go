//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// result is what the scenario found.
type result struct {
	Date       string    `json:"date"`
	Processors int       `json:"processors"`
	Load       string    `json:"load"` // of /proc/loadavg, at the beginning
	Cells      []cell    `json:"cells"`
	BadRows    []badCell `json:"bad_rows"`
}

// A cell is one problem.
type cell struct {
	problem
	// Of the program's own JSON: milliseconds, medians.
	Time struct {
		Read    float64 `json:"read"`
		Prepare float64 `json:"prepare"`
		Solve   float64 `json:"solve"`
		Write   float64 `json:"write"`
	} `json:"time_ms"`
	Sort      float64 `json:"sort_ms"`
	Objective float64 `json:"objective"`
	Gap       float64 `json:"gap"`
	Load      float64 `json:"load"`
	Budget    float64 `json:"budget"`
	Feasible  bool    `json:"feasible"`
	MaxRSS    int64   `json:"max_resident_bytes"`
}

// A problem is what is solved.
type problem struct {
	Channels int     `json:"channels"`
	Policy   string  `json:"policy"`
	Ladder   string  `json:"ladder"`
	Cost     string  `json:"cost"`
	HostCap  float64 `json:"host_cap"` // polls per interval, 0: none
}

// scenario is a program and a folder for its files.
type scenario struct {
	options
	binary string
	result *result
}

func run(ctx context.Context, o options) (*result, error) {
	folder, err := os.MkdirTemp("", "corona-solve-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if o.folder == "" {
		o.folder = folder
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	s := &scenario{options: o, result: &result{Date: time.Now().UTC().Format(time.DateOnly),
		Processors: runtime.NumCPU(), Load: strings.TrimSpace(string(load))}}
	if s.binary, err = child.Build(ctx, folder); err != nil {
		return nil, err
	}
	for _, rows := range o.rows {
		if err := s.file(ctx, rows); err != nil {
			return nil, err
		}
	}
	return s.result, nil
}

// file solves all problems of a file, and then spoils it.
func (s *scenario) file(ctx context.Context, rows int) error {
	path := filepath.Join(s.folder, fmt.Sprintf("channels-%d-%d.csv", rows, s.seed))
	if _, err := os.Stat(path); err != nil {
		if err := generate(path, rows, s.seed); err != nil {
			return err
		}
	}
	for _, p := range s.problems(rows) {
		c, err := s.solve(ctx, path, p)
		if err != nil {
			return err
		}
		s.result.Cells = append(s.result.Cells, c)
		fmt.Fprintf(os.Stderr, "%d %s %s %s: %.0f + %.0f ms, sort %.0f ms\n", rows, p.Policy, p.Ladder, p.Cost, c.Time.Prepare, c.Time.Solve, c.Sort)
	}
	return s.spoil(ctx, path, rows)
}

func (s *scenario) problems(rows int) []problem {
	ladders := []string{"any", "prefix:16", "geometric:2"}
	if s.limited {
		ladders = ladders[:1]
	}
	var all []problem
	for _, policy := range []string{"lite", "fast", "fair", "fair-sqrt", "fair-log"} {
		for _, ladder := range ladders {
			for _, cost := range []string{"polls", "bytes"} {
				all = append(all, problem{rows, policy, ladder, cost, 0})
				if ladder == "any" {
					// A large host has a sixtieth of the rows: three polls each.
					all = append(all, problem{rows, policy, ladder, cost, float64(rows / 20)})
				}
			}
		}
	}
	return all
}

// solve runs the program once.
func (s *scenario) solve(ctx context.Context, path string, p problem) (c cell, err error) {
	args := []string{"solve", "--in", path, "--out", filepath.Join(s.folder, "rates.csv"), "--json",
		"--repeat", strconv.Itoa(s.repeat), "--nodes", "1024", "--interval", "30m",
		"--policy", p.Policy, "--ladder", p.Ladder, "--cost", p.Cost, "--host-cap", fmt.Sprint(p.HostCap)}
	if p.Policy == "fast" {
		args = append(args, "--target", "5m")
	}
	cmd := exec.CommandContext(ctx, s.binary, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// 1 is for limits that cannot be met together.
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 {
		return c, fmt.Errorf("corona %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	if err := json.Unmarshal(out, &c); err != nil {
		return c, err
	}
	c.problem = p
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.MaxRSS = usage.Maxrss << 10
	}
	return c, nil
}
