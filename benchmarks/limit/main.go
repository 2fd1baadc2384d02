// Command limit asks how much processor a poll of a node costs that polls as fast as it can,
// beside programs that do nothing but ask: wrk and a bare loop of fasthttp's client, and
// beside Prometheus, which asks for other reasons. All ask one origin, a child process, and
// take turns in chance order, each alone.
//
//	go run ./benchmarks/limit -prometheus -changes -need-all -out result.json
//	go run ./benchmarks/limit -channels 2000 -rounds 2 -window 3s
//	go run ./benchmarks/limit -rounds 0 -changes
//
// What counts are the ratios of processor time for a request, user and system, of the
// asking process alone, as medians over the rounds, and the thresholds at the end. The exit
// code is 1 when one is missed.
//
// Equal for all in the rounds: origin, paths, headers (If-None-Match and
// If-Modified-Since among them; the User-Agents differ by a few bytes), answers (304),
// hosts, and the most connections, all kept. A node opens no more than it needs, and
// "connections" tells how many. "wrk" has a thread for each host, since a thread of wrk has
// one address; "wrk 1 thread" has all its connections to the first address, and of the
// hosts only the Host fields: it is the cheapest wrk there is. "Paced" ones ask at the rate
// that the node had last, so that origin and kernel are as busy as with the node; the
// others as fast as they can. Turns do not count in which the origin used more than 0.9 of a
// core: its clients wait for it then. Of each kind the cheapest counts that has most of its
// turns left.
//
// With -prometheus nodes and Prometheus have the same number of targets, once an interval
// each. Prometheus cannot use a 304, so it gets the smallest body that it takes,
// one sample without labels, compressed as it asks for it. Processor time is compared at the
// larger number of targets: at a low rate most of it is waking up, which is the same for
// both. Memory is the slope of resident bytes from the smaller to the larger number of
// targets; Prometheus took 150 KB for each of 20,000.
//
// With -changes most polls find another document, which has two new entries on average; what
// counts is versions for each second of the node's processor time, from poll to commit.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	channels, hosts, perHost int
	rate                     float64 // polls/s that the node plans
	rounds                   int
	window                   time.Duration
	few, many                int // targets with -prometheus
	interval                 time.Duration
	prometheus, changes      bool
	needAll                  bool
	seed                     uint64
	out                      string
}

func main() {
	var o options
	flag.BoolVar(&o.prometheus, "prometheus", false, "measure nodes beside Prometheus as well")
	flag.BoolVar(&o.changes, "changes", false, "measure a node whose polls find changes as well")
	flag.IntVar(&o.channels, "channels", 10_000, "channels in the rounds and with -changes")
	flag.IntVar(&o.hosts, "hosts", 16, "addresses of 127.0.0.0/8 that they are on")
	flag.IntVar(&o.perHost, "connections", 4, "connections to each host at most")
	flag.Float64Var(&o.rate, "rate", 100_000, "polls a second that the node plans; more than it can do saturates it")
	flag.IntVar(&o.rounds, "rounds", 6, "turns of each program; 0: none")
	flag.DurationVar(&o.window, "window", 10*time.Second, "what is measured in each turn, whole seconds")
	flag.IntVar(&o.few, "few", 10_000, "targets that the slope of memory begins with")
	flag.IntVar(&o.many, "many", 50_000, "targets that it ends with")
	flag.DurationVar(&o.interval, "interval", 10*time.Second, "of targets with -prometheus")
	flag.BoolVar(&o.needAll, "need-all", false, "fail if a program is missing, instead of leaving its rows out")
	flag.Uint64Var(&o.seed, "seed", 1, "of content and of the order of turns")
	flag.StringVar(&o.out, "out", "", "`file` for the result's JSON")
	flag.Parse()
	if err := o.validate(); err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "limit: wrong usage:", errors.Join(err, unexpected(flag.Args())))
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := report(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "limit:", err)
	}
	if err != nil || !held {
		stop()
		os.Exit(1)
	}
}

func unexpected(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q", args[0])
}

func (o *options) validate() error {
	switch {
	case o.hosts < 1 || o.perHost < 1 || o.channels < o.hosts*o.perHost:
		return errors.New("-channels, -hosts, -connections: want a channel at least for each connection")
	case !(o.rate >= 1 && o.rate <= 1e7):
		return errors.New("-rate: want 1 to 10,000,000 polls a second")
	case o.rounds < 0 || o.rounds == 0 && !o.prometheus && !o.changes:
		return errors.New("-rounds: want 1 at least, or -prometheus or -changes")
	case o.window < time.Second || o.window%time.Second != 0:
		return errors.New("-window: want whole seconds")
	case o.few < o.hosts || o.many <= o.few:
		return errors.New("-few, -many: want a target for each host, and more at the end")
	case o.interval < time.Second:
		return errors.New("-interval: want 1s at least")
	}
	return nil
}

// report measures, prints, and says whether every threshold holds.
func report(ctx context.Context, o options) (held bool, err error) {
	result, failure := run(ctx, o) // what was measured before a failure is kept
	result.print(os.Stdout)
	if o.out != "" {
		var text []byte
		if text, err = json.MarshalIndent(result, "", "  "); err == nil {
			err = os.WriteFile(o.out, append(text, '\n'), 0o644)
		}
	}
	return result.held(), errors.Join(failure, err)
}

func run(ctx context.Context, o options) (r result, err error) {
	folder, err := os.MkdirTemp("", "corona-limit-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	r.begin(o)
	w, err := newWorld(ctx, o, folder)
	if err != nil {
		return r, err
	}
	for _, part := range []struct {
		name    string
		wanted  bool
		measure func(context.Context, *result) error
	}{{"rounds", o.rounds > 0, w.saturate}, {"prometheus", o.prometheus, w.besidePrometheus}, {"changes", o.changes, w.change}} {
		if !part.wanted {
			continue
		}
		if err := part.measure(ctx, &r); err != nil {
			return r, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r, nil
}

// missing says whether a program is missing, of the Debian package of its name. With
// -need-all that is an error.
func (w *world) missing(program string, r *result) (bool, error) {
	_, err := exec.LookPath(program)
	if err == nil {
		return false, nil
	}
	if w.needAll {
		return true, fmt.Errorf("%w (Debian package %s)", err, program)
	}
	r.Missing = append(r.Missing, program)
	logf("%s is missing (Debian package %s): its rows are left out", program, program)
	return true, nil
}
