package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// table counts outcomes by kind of file and of damage.
type table struct {
	counts     map[string]map[outcome]int
	violations int
}

func newTable() *table { return &table{counts: make(map[string]map[outcome]int)} }

func (t *table) add(tried trial) {
	row := tried.damage.fileKind() + "\t" + tried.damage.kind
	if t.counts[row] == nil {
		t.counts[row] = make(map[outcome]int)
	}
	t.counts[row][tried.outcome]++
	if tried.outcome.violation() {
		t.violations++
	}
}

func (t *table) print(out io.Writer) {
	columns := make(map[outcome]bool)
	sums := make(map[outcome]int)
	for _, row := range t.counts {
		for outcome, n := range row {
			columns[outcome] = true
			sums[outcome] += n
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	outcomes := slices.Sorted(maps.Keys(columns))
	var head strings.Builder
	for _, o := range outcomes {
		fmt.Fprintf(&head, "\t%s", o)
	}
	fmt.Fprintf(w, "file\tdamage%s\n", head.String())
	for _, row := range slices.Sorted(maps.Keys(t.counts)) {
		printRow(w, row, outcomes, t.counts[row])
	}
	printRow(w, "all\t", outcomes, sums)
	_ = w.Flush() // to standard output
}

func printRow(w io.Writer, name string, outcomes []outcome, counts map[outcome]int) {
	fmt.Fprint(w, name)
	for _, o := range outcomes {
		if n := counts[o]; n > 0 {
			fmt.Fprintf(w, "\t%d", n)
		} else {
			fmt.Fprint(w, "\t")
		}
	}
	fmt.Fprintln(w)
}
