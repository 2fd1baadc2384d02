//go:build unix

// Command deltas runs recorded histories through the difference engine and the
// judge, and prints what is promised of them: is every entry reported, once? how
// many updates say nothing that a person would see? how large are deltas, against
// the documents and against what zstd, xdelta3 and diff make of the same contents?
// What is seen in a document is found here by readers that share nothing with the
// engine's own (seen.go).
//
//	go run ./benchmarks/deltas -out figures.json ../shared/data/traces/*/trace.jsonl.zst
//
// It takes about ten minutes, most of it the other tools'. Each document of a
// collection of feeds (-feeds) is read once more for a table: what became of it, and
// what that cost. Times are the processor's.
//
// A history NAME-extract is taken for what its archivists found that mattered in
// NAME-raw. -sample prints captures with what differs in them, for a person to
// judge the judge by.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// options are the command's flags.
type options struct {
	out    string
	tools  string
	feeds  string
	sample int
	seed   uint64
	worlds string
	seeds  int
	traces []string
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "write the figures as JSON to a `file`")
	flag.StringVar(&o.tools, "tools", "zstd,xdelta3,diff", "run these on the same contents, each update (Debian: zstd, xdelta3, diffutils)")
	flag.StringVar(&o.feeds, "feeds", "../shared/data/feeds/feeds.tar.zst", "read each document of this tar.zst; empty: of none")
	flag.IntVar(&o.sample, "sample", 0, "captures of each history to print with what differs: half updates, half not")
	flag.Uint64Var(&o.seed, "seed", 1, "which captures -sample takes")
	flag.StringVar(&o.worlds, "worlds", "", "live the made worlds whose name contains this `text`, or all")
	flag.IntVar(&o.seeds, "seeds", 5, "lives of each world")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: deltas [flags] TRACE.jsonl.zst …")
		flag.PrintDefaults()
	}
	flag.Parse()
	if o.traces = flag.Args(); len(o.traces) == 0 && o.worlds == "" {
		flag.Usage()
		os.Exit(2)
	}
	held, err := run(o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "deltas:", err)
		os.Exit(3)
	case !held:
		os.Exit(1)
	}
}

func run(o options) (bool, error) {
	tools, err := namedTools(o.tools)
	if err != nil {
		return false, err
	}
	var found figures
	if o.feeds != "" {
		if found.Feeds, err = readFeeds(o.feeds); err != nil {
			return false, fmt.Errorf("-feeds: %w", err)
		}
	}
	if o.worlds != "" {
		found.Worlds = runWorlds(strings.TrimPrefix(o.worlds, "all"), o.seeds)
		printWorlds(os.Stdout, found.Worlds)
	}
	if len(o.traces) == 0 {
		return !slices.ContainsFunc(found.Worlds, func(w worldFigures) bool { return !w.Holds }), nil
	}
	lives := make(map[string]*life)
	for n, file := range o.traces {
		fmt.Fprintf(os.Stderr, "%s (%d of %d)\n", file, n+1, len(o.traces))
		l, err := readLife(file)
		if err != nil {
			return false, err
		}
		lives[l.name] = l
		if o.sample > 0 {
			l.print(os.Stdout, o.sample, o.seed)
		}
		h, err := l.figures(tools)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.name, err)
		}
		found.Histories = append(found.Histories, h)
		h.print(os.Stdout)
		l.steps = nil
	}
	found.Extracts = compareExtracts(lives)
	found.sum()
	found.print(os.Stdout)
	if o.out == "" {
		return found.hold(), nil
	}
	return found.hold(), found.write(o.out)
}
