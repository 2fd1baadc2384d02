// Command replicated asks what a durable command costs on several nodes, and what the
// stores cost that could stand in place of ours. It runs, one after the other in each
// round, on the same disk:
//
//   - corona: three processes, each an ownership.Store with its part of 64 ranges, with
//     TLS between them;
//   - etcd: three processes of the etcd on the PATH, with TLS between them, all defaults;
//   - logs: benchmarks/logstores, which puts a raft-boltdb file for each group in place
//     of the log that all groups share.
//
// The clients are this process: each sends a command of 256 bytes to one of the nodes
// and waits until it is acknowledged. They come to both systems over HTTP/2 with TLS, by
// the same code, on as many connections. A command to Corona is a subscription of a new
// channel with a webhook; one to etcd is a Put of a new key.
//
//	go run ./benchmarks/replicated -ranges 64 -replicas 3
//	go run ./benchmarks/replicated -ranges 64 -replicas 3 -out result.json
//
// The figures that count are the ratios, taken between neighbours in time, and the
// processor time of the nodes for a commit. It exits with 1 if a criterion is not met.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	ranges, replicas int
	clients, size    int // size in bytes, of a command
	connections      int // from the clients to a node
	rounds           int
	warmup, window   time.Duration
	systems          []string
	dir, out         string
	keep             bool   // the directories of corona and etcd
	profile          string // file for the profile of a Corona node
}

// The systems, in the order of their first round.
const (
	systemCorona = "corona"
	systemEtcd   = "etcd"
	systemLogs   = "logs"
)

const help = `usage: go run ./benchmarks/replicated [flags]

Compares acknowledged commits a second of three Corona nodes with those of three etcd
nodes, and Corona's shared log with a raft-boltdb file for each group, in one run, on
one disk, in turn. Every command is on the disks of a majority when it is acknowledged:
for Corona a subscription of a new channel with a webhook, for etcd a Put of a new key,
both over HTTP/2 with TLS, from clients that are all in this process.

  -ranges 64 -replicas 3     Corona's Raft groups, and the nodes of each system (3 or 5)
  -clients 1024 -size 256    clients, each with one command under way; bytes of a command
  -time 10s -warmup 3s       what is counted in each cell, and what comes before
  -rounds 3                  each round runs all systems, every time in another order
  -systems corona,etcd,logs  what to run; etcd needs the program on the PATH (Debian:
                             etcd-server), logs the go command and the sources
  -dir DIR                   on the disk to be measured; default: the system's folder for
                             temporary files, which must not be a file system in memory

What to look for: "commits/s" and its ratio; "node CPU", the processor time of all nodes
for a commit, which compares better than the clock on a machine that does other work too.
A profile of one Corona node, taken under load after its last window, is split into parts
and kept with -profile FILE: go tool pprof -http : FILE.

Criteria, by the median of the ratios within rounds: more commits/s than etcd, and at least
3 times those of a raft-boltdb file for each group. Exit code 1 if one is not met.

A run takes about -rounds times (130 s + 6 times -time), most of the 130 s until leaders
are spread over Corona's nodes. It kills only processes that it has started, and removes
its directories.

`

func main() {
	if len(os.Args) == 3 && os.Args[1] == nodeArgument {
		exit(runNode(os.Args[2]))
	}
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicated:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(report(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicated:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("replicated", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.ranges, "ranges", 64, "Corona's ranges, each a Raft group")
	flags.IntVar(&o.replicas, "replicas", 3, "replicas of each, and nodes: 3 or 5")
	flags.IntVar(&o.clients, "clients", 1024, "clients, each with one command under way")
	flags.IntVar(&o.size, "size", 256, "bytes of a command in the log")
	flags.IntVar(&o.connections, "connections", 8, "connections from all clients together to each node")
	flags.IntVar(&o.rounds, "rounds", 3, "rounds")
	flags.DurationVar(&o.warmup, "warmup", 3*time.Second, "load before the window of a cell")
	flags.DurationVar(&o.window, "time", 10*time.Second, "window of a cell")
	systems := flags.String("systems", "corona,etcd,logs", "systems to run")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where directories are made and removed, on the disk to be measured")
	flags.StringVar(&o.out, "out", "", "file for the result's JSON; none by default")
	flags.StringVar(&o.profile, "profile", "", "file for the profile of a Corona node; none by default")
	flags.BoolVar(&o.keep, "keep", false, "keep the directories of corona and etcd, with the nodes' logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.systems = strings.Split(*systems, ",")
	for _, s := range o.systems {
		if !slices.Contains([]string{systemCorona, systemEtcd, systemLogs}, s) {
			return o, fmt.Errorf("system %q: want corona, etcd or logs", s)
		}
	}
	return o, o.check(flags.Args())
}

func (o options) check(arguments []string) error {
	switch {
	case len(arguments) > 0:
		return fmt.Errorf("argument %q: want flags only", arguments[0])
	case o.replicas != 3 && o.replicas != 5:
		return fmt.Errorf("-replicas %d: want 3 or 5", o.replicas)
	case o.ranges < 1 || o.ranges > 1024:
		return fmt.Errorf("-ranges %d: want 1 to 1024", o.ranges)
	case o.clients < 1 || o.clients > 1<<16 || o.connections < 1 || o.connections > 256:
		return fmt.Errorf("-clients %d -connections %d: want 1 to 65536, 1 to 256", o.clients, o.connections)
	case o.size < leastSize || o.size > mostSize:
		return fmt.Errorf("-size %d: want %d to %d", o.size, leastSize, mostSize)
	case o.rounds < 1 || o.rounds > 100:
		return fmt.Errorf("-rounds %d: want 1 to 100", o.rounds)
	case o.window < time.Second || o.window > 10*time.Minute || o.warmup < 0 || o.warmup > 10*time.Minute:
		return fmt.Errorf("-time %s -warmup %s: want 1s to 10m, 0 to 10m", o.window, o.warmup)
	}
	return nil
}

// errNotMet says that a criterion is not met: the table says which.
var errNotMet = errors.New("not all criteria are met")

func report(ctx context.Context, o options) error {
	result, err := run(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(result.text())
	if o.out != "" {
		content, err := json.MarshalIndent(result, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.out, append(content, '\n'), 0o644); err != nil {
			return err
		}
	}
	for _, c := range result.criteria() {
		if c.verdict == failed {
			return errNotMet
		}
	}
	return nil
}
