package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// matrix is what to run.
type matrix struct {
	stores          []string
	groups, clients []int
	rounds, entry   int  // entry in bytes
	front           bool // also with the batching front, where groups have several clients
	warmup, window  time.Duration
	dir             string
}

// results are of one run.
type results struct {
	Date   string   `json:"date"`
	Go     string   `json:"go"`
	CPUs   int      `json:"cpus"`
	Entry  int      `json:"entry_bytes"`
	Rounds []before `json:"rounds"`
	Cells  []cell   `json:"cells"`
	stores []string
}

// before is how the machine was when a round began.
type before struct {
	Fsync float64 `json:"fsync_ms"` // median of 4 KiB made durable
	Load  string  `json:"load"`     // of /proc/loadavg: 1, 5 and 15 minutes
}

type cell struct {
	spec
	figures
}

// run runs round after round, so that a slow minute of a shared machine meets all
// stores, and in a round each cell for one store after the other, every round in
// another order.
func (m matrix) run(ctx context.Context, progress io.Writer) (*results, error) {
	all := &results{Date: time.Now().Format(time.DateOnly), Go: runtime.Version(), CPUs: runtime.NumCPU(), Entry: m.entry, stores: m.stores}
	for n := range m.rounds {
		state, err := m.look()
		if err != nil {
			return nil, err
		}
		all.Rounds = append(all.Rounds, state)
		for _, s := range m.specs(n) {
			figures, err := m.cell(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s, %d groups, %d clients: %w", s.Store, s.Groups, s.Clients, err)
			}
			all.Cells = append(all.Cells, cell{s, figures})
			fmt.Fprintf(progress, "round %d: %d groups, %s clients, %s: %.0f/s\n", n+1, s.Groups, s.who(), s.Store, figures.PerSecond)
		}
	}
	return all, nil
}

func (m matrix) look() (before, error) {
	fsync, err := probe(m.dir)
	if err != nil {
		return before{}, err
	}
	load, err := loadAverage()
	return before{Fsync: milliseconds(fsync), Load: load}, err
}

// specs is the order of a round.
func (m matrix) specs(round int) (order []spec) {
	for _, groups := range m.groups {
		for _, clients := range m.clients {
			for _, front := range []bool{false, true} {
				if front && (!m.front || clients <= groups) {
					continue
				}
				for i := range m.stores {
					store := m.stores[(i+round)%len(m.stores)]
					order = append(order, spec{Store: store, Groups: groups, Clients: clients, Front: front, Round: round + 1})
				}
			}
		}
	}
	return order
}

// who says how many clients there are, and which way they come.
func (s spec) who() string {
	if s.Front {
		return fmt.Sprint(s.Clients, " batched")
	}
	return fmt.Sprint(s.Clients)
}

// cell runs one cell in a directory that is gone afterwards.
func (m matrix) cell(ctx context.Context, s spec) (figures, error) {
	dir, err := os.MkdirTemp(m.dir, "logstores")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(dir)
	task := message{Spec: s, Dir: dir, Entry: m.entry, Warmup: m.warmup, Window: m.window}
	if err := half(ctx, childRun, &task); err != nil {
		return figures{}, err
	}
	bytes, err := diskUsage(dir)
	if err != nil {
		return figures{}, err
	}
	task.Figures.DiskMiB = round(float64(bytes)/(1<<20), 1)
	if lasts(s.Store) {
		err = half(ctx, childRecover, &task)
	}
	return task.Figures, err
}

// half runs a half of a cell in a process of its own, and kills it when it has
// answered.
func half(ctx context.Context, name string, m *message) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	task, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var complaint bytes.Buffer
	child := exec.CommandContext(ctx, program, name)
	child.Stdin, child.Stderr = bytes.NewReader(task), &complaint
	answer, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if err := json.NewDecoder(answer).Decode(m); err != nil {
		return errors.Join(err, child.Wait(), errors.New(complaint.String()))
	}
	_ = child.Process.Kill() // it may have ended
	_ = child.Wait()         // it was killed
	return nil
}
