package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a half of a cell.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == childRun || os.Args[1] == childRecover) {
		if err := child(os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func tinyMatrix(t *testing.T) matrix {
	return matrix{
		stores: kinds(), groups: []int{2}, clients: []int{3}, rounds: 1, entry: 32, front: true,
		warmup: 10 * time.Millisecond, window: 200 * time.Millisecond, dir: t.TempDir(),
	}
}

// TestMatrix runs a cell of every store, kills it and finds everything again.
func TestMatrix(t *testing.T) {
	m := tinyMatrix(t)
	var progress bytes.Buffer
	r, err := m.run(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 2*len(kinds()) || strings.Count(progress.String(), "\n") != len(r.Cells) {
		t.Fatalf("%d cells, progress %q", len(r.Cells), &progress)
	}
	for _, c := range r.Cells {
		if c.Commits == 0 || c.P99 < c.P50 || c.Elections > 0 || c.Own <= 0 || lasts(c.Store) != (c.RecoverMS > 0) {
			t.Errorf("%+v", c)
		}
		if c.Store != "none" && (c.Fsyncs < c.PerSecond/5 || c.Amplification < 1) {
			t.Errorf("%+v", c)
		}
	}
	left, err := os.ReadDir(m.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestLoss: an acknowledged entry that most replicas do not have fails the run.
func TestLoss(t *testing.T) {
	m := message{Spec: spec{Store: "bbolt", Groups: 1, Clients: 2}, Dir: t.TempDir(), Entry: 32, Window: 100 * time.Millisecond}
	if err := half(t.Context(), childRun, &m); err != nil {
		t.Fatal(err)
	}
	m.Acknowledged[0] += 1000
	if err := half(t.Context(), childRecover, &m); err == nil || !strings.Contains(err.Error(), "was acknowledged") {
		t.Errorf("error %v", err)
	}
}

func TestTable(t *testing.T) {
	r := &results{stores: []string{"file", "wal"}, Rounds: []before{{Fsync: 1, Load: "0 0 0"}}}
	for round, rates := range [][2]float64{{100, 300}, {200, 400}, {100, 1000}} {
		for i, store := range r.stores {
			r.Cells = append(r.Cells, cell{
				spec{Store: store, Groups: 4, Clients: 8, Round: round + 1},
				figures{PerSecond: rates[i], Processor: 1e6 / rates[i], Elections: uint64(i * round)},
			})
		}
	}
	table := r.table()
	for _, want := range []string{
		"| 4 | 8 | file | 100 | 1.00 (1.00–1.00) |", "| 4 | 8 | wal | 400 | 3.00 (2.00–10.00) |",
		"round 3, wal, 4 groups, 8 clients: 2 elections",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// TestOrder: no store is always the first of its cell.
func TestOrder(t *testing.T) {
	m := matrix{stores: kinds(), groups: []int{1, 16}, clients: []int{1}}
	first := make(map[string]bool)
	for round := range len(kinds()) {
		order := m.specs(round)
		if len(order) != 2*len(kinds()) {
			t.Fatalf("%d cells", len(order))
		}
		first[order[0].Store] = true
	}
	if len(first) != len(kinds()) {
		t.Errorf("only %v come first", first)
	}
}

func TestFlags(t *testing.T) {
	for _, bad := range [][]string{{"-groups", "0"}, {"-clients", "x"}, {"-count", "0"}, {"-window", "0s"}, {"-entry", "7"}, {"more"}} {
		if _, _, err := parseFlags(bad); err == nil {
			t.Errorf("%v accepted", bad)
		}
	}
	if m, out, err := parseFlags([]string{"-out", "x", "-groups", "2,3"}); err != nil || out != "x" || len(m.groups) != 2 || m.groups[1] != 3 || len(m.stores) != len(kinds()) {
		t.Errorf("%+v, %q, %v", m, out, err)
	}
	if m, _, err := parseFlags([]string{"-quick"}); err != nil || len(m.specs(0)) != 9 || m.rounds != 5 {
		t.Errorf("%+v, %v", m, err)
	}
}
