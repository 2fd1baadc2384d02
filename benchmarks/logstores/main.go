// Command logstores asks which store should hold the logs and votes of many Raft
// groups on one disk. It runs hashicorp/raft, three nodes in one process with the
// library's transport in memory, on
//
//   - file: a raft-boltdb file for each group, what the library comes with;
//   - bbolt: one bbolt file for a node, whose committer merges what all groups
//     wait for into one transaction;
//   - pebble: Corona's own, ownership/sharedlog;
//   - wal: a raft-wal directory for each group;
//   - journal: the least that can be durable, one file that only grows;
//   - none: nothing on the disk, so what raft itself leaves to gain.
//
// Clients propose entries one after the other, each waiting until its entry is on
// the disks of a majority; all disks are this machine's one. Every cell runs in a
// process of its own that ends by SIGKILL; another one opens what is left, takes
// the time, and fails the run if an acknowledged entry is missing on a majority.
//
//	cd benchmarks/logstores && go run . -out ../results/logstores.json
//	cd benchmarks/logstores && go run . -quick -out ../results/logstores-quick.json
//
// The second takes three minutes: 64 groups, 64 and 1024 clients, file, pebble and
// none, and 1024 clients also through the batching front of a node.
//
// The figure that counts is the ratio to file, taken between neighbours in time:
// one round runs all stores of a cell before the next cell.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "logstores:", err)
		os.Exit(1)
	}
}

// command runs the matrix, or one half of a cell for a matrix that started it.
func command(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 && (args[0] == childRun || args[0] == childRecover) {
		return child(args[0], in, out)
	}
	m, file, err := parseFlags(args)
	if err != nil {
		return err
	}
	results, err := m.run(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Fprint(out, results.table())
	if file == "" {
		return nil
	}
	content, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

func parseFlags(args []string) (m matrix, out string, err error) {
	flags := flag.NewFlagSet("logstores", flag.ExitOnError)
	stores := flags.String("stores", strings.Join(kinds(), ","), "stores to compare; ratios refer to the first")
	groups := flags.String("groups", "1,16,64", "numbers of groups")
	clients := flags.String("clients", "1,64,1024", "numbers of clients, spread over the groups")
	flags.IntVar(&m.rounds, "count", 3, "rounds")
	flags.IntVar(&m.entry, "entry", 256, "bytes of an entry")
	flags.BoolVar(&m.front, "front", false, "also cells whose clients come through a batching front, where there are more clients than groups")
	quick := flags.Bool("quick", false, "only the cells that decide, whatever the other flags say of them")
	flags.DurationVar(&m.warmup, "warmup", 500*time.Millisecond, "load before the window of a cell")
	flags.DurationVar(&m.window, "window", 4*time.Second, "the window of a cell")
	flags.StringVar(&m.dir, "dir", os.TempDir(), "where the stores are made, on the disk to be measured")
	flags.StringVar(&out, "out", "", "file for the results' JSON; none by default")
	if err := flags.Parse(args); err != nil {
		return m, "", err
	}
	if *quick {
		*stores, *groups, *clients = "file,pebble,none", "64", "64,1024"
		m.rounds, m.front, m.window = 5, true, 2*time.Second
	}
	m.stores = strings.Split(*stores, ",")
	if m.groups, err = numbers(*groups); err != nil {
		return m, "", err
	}
	if m.clients, err = numbers(*clients); err != nil {
		return m, "", err
	}
	if m.rounds < 1 || m.entry < 8 || m.window <= 0 || flags.NArg() > 0 {
		return m, "", fmt.Errorf("want a count, a window and entries of 8 bytes or more, and no arguments")
	}
	return m, out, nil
}

func numbers(list string) ([]int, error) {
	var ns []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1<<16 {
			return nil, fmt.Errorf("number %q in %q", text, list)
		}
		ns = append(ns, n)
	}
	return ns, nil
}
