//go:build linux

// Command nemesis runs three nodes in network namespaces of their own, and lets faults
// happen to them, drawn from a seed: kills, suspensions, cuts in one direction or both,
// the isolation of a node, disks that fail or are slow, a stop in order, the kill of
// all, ranges that are split; in long runs several at a time, and nodes join, are drained,
// removed and wiped, and run the other of two programs one after the other. Meanwhile clients subscribe, look, list and unsubscribe at any node, streams and
// webhooks receive, endpoints that many subscriptions share fail for a time, and an origin
// keeps changing; then it checks that nothing that was acknowledged is lost, nothing that
// was deleted is back, no ID was given twice, no update is missing, histories are
// linearizable, nothing stays stuck, endpoints that failed were spared, no origin was
// asked too soon, and the replicas of each range have the same state. But for that last
// rule it uses the contract alone.
//
// It ends with 0 when every rule holds; with 1 when one does not, says which, and leaves
// data, logs and history; with 2 when it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

const usage = `Runs a cluster of three nodes, or of up to five that come and go, beside faults and checks
what clients were promised.

  go run ./benchmarks/nemesis                              # one seed, 17 faults, two minutes
  go run ./benchmarks/nemesis -seed 7 -keep                # another one; data and logs stay
  go run ./benchmarks/nemesis -seeds 3                     # what "make nemesis" runs
  go run ./benchmarks/nemesis -seed 1 -seeds 30            # thirty of them, by hand
  go run ./benchmarks/nemesis -kinds pause,isolate -faults 40 -time 5m
  go run ./benchmarks/nemesis -long 2h -out long.jsonl     # seeds of ten minutes, up to three faults at a time
  go run ./benchmarks/nemesis -long 20m -seed 9 -damage    # more of it another day, with damaged disks
  go run ./benchmarks/nemesis -long 20m -from corona-old   # an upgrade beside faults, from an older program
  go run ./benchmarks/nemesis -sum long.jsonl              # adds up what such runs have written

A seed decides which faults come in which order, to which nodes and for how long, and what
clients ask for; when what happens is up to the machine, so a seed does not repeat a run
exactly. Each seed begins with empty directories. It needs Linux, root (for network
namespaces) and iproute2, for the faults of disks strace. Nothing is left behind, but what a
failed run found: its folder holds data directories, logs, strace's log, and a page for each
history that is not linearizable.

Kinds of faults (-kinds), and how many of each are among %d:
%s
Rules (-rules prints them all):
  acknowledged means kept, deleted means gone, whatever node is asked; an ID is given once;
  every update reaches every stream and webhook; an endpoint that fails is tried as by one
  node, and what it missed comes, or, after 410, one gap for each subscription; per channel the histories of subscribe,
  unsubscribe and list are linearizable, with unknown outcomes that may happen any time later;
  what is not decided within a limit is told, and must be less than one in a hundred channels;
  30 s after the last fault every node takes writes for every range; no two polls of a
  channel by one node come under the floor, as the kernel receives them; three minutes
  after it each range has all its replicas, none is left over, and in the end they have the
  same state at the same entry.

While nodes come and go, one fault at a time may cost a node what its disk has, and only
while each range has three whole replicas: else what was acknowledged by two of them could
be lost with these two.

Flags:
`

// options are what the command line says.
type options struct {
	seed    uint64
	seeds   int
	faults  int
	time    time.Duration
	long    time.Duration
	kinds   []string
	program string
	against string
	from    string
	out     string
	keep    bool

	binaries string // the flags that name programs, as they were given
}

// secondVersion is what the program says that it is which is built to roll to.
const secondVersion = "second"

// length says how many faults a seed has, or for how long.
func (o *options) length() string {
	if o.long > 0 {
		return fmt.Sprintf("%s of faults, up to %d at a time,", o.time, faultsAtOnce)
	}
	return fmt.Sprintf("%d faults", o.faults)
}

// again is the command that runs a seed once more.
func (o *options) again(seed uint64) string {
	length := fmt.Sprintf("-faults %d", o.faults)
	if o.long > 0 {
		length = fmt.Sprintf("-long %s", o.time)
	}
	return fmt.Sprintf("go run ./benchmarks/nemesis -seed %d %s -kinds %s%s", seed, length, strings.Join(o.kinds, ","), o.binaries)
}

func main() {
	o, done := parse()
	if done {
		return
	}
	code, err := cluster.Contained("nemesis", o.program, o.keep, o.contained)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nemesis:", err)
		code = 2
	}
	os.Exit(code)
}

// parse reads the command line; done is whether that is all that was asked for. It ends the
// process where the command line is wrong.
func parse() (o options, done bool) {
	var named string
	rules := flag.Bool("rules", false, "print the rules that are checked, and end")
	sum := flag.Bool("sum", false, "add up what runs have written to the files that are the arguments, and end")
	damage := flag.Bool("damage", false, "draw also faults that damage what a disk has")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.IntVar(&o.seeds, "seeds", 1, "how many seeds, one after the other")
	flag.IntVar(&o.faults, "faults", len(deckOf(kindNames(ofAnyRun))), "how many faults for each seed")
	flag.DurationVar(&o.time, "time", 3*time.Minute, "no further fault begins so long after the start of a seed")
	flag.DurationVar(&o.long, "long", 0, "begin seeds of ten minutes for so long, with any number of faults, several at a time, and with nodes that come and go")
	flag.StringVar(&named, "kinds", "", "faults to draw, with commas (default: those of the table without a flag, or with those that are given)")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.StringVar(&o.against, "against", "", "the `binary` that nodes are rolled to, and back from, rather than this module's with another version")
	flag.StringVar(&o.from, "from", "", "the `binary` that nodes begin with, and are rolled from, never back: an upgrade, which may raise the version of the state machine")
	flag.StringVar(&o.out, "out", "", "add a line of JSON for each seed to a `file`")
	flag.BoolVar(&o.keep, "keep", false, "keep data and logs when every rule holds, too")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), usage, len(deckOf(kindNames(ofAnyRun))), describeKinds())
		flag.PrintDefaults()
	}
	flag.Parse()
	flag.Visit(func(f *flag.Flag) {
		if slices.Contains([]string{"program", "against", "from"}, f.Name) {
			o.binaries += fmt.Sprintf(" -%s %s", f.Name, f.Value)
		}
	})
	if *rules {
		printRules(os.Stdout)
		return o, true
	}
	if *sum {
		all, err := readRecords(flag.Args()...)
		if err != nil {
			wrong(err.Error())
		}
		fmt.Println(all)
		return o, true
	}
	if flag.NArg() > 0 || o.seeds < 1 || o.faults < 0 || o.time <= 0 || o.long < 0 {
		wrong("want no arguments, -seeds of at least 1, -faults and -long of at least 0, -time above 0")
	}
	if o.from != "" && o.against != "" {
		wrong("-from and -against: want one of them; both name the other program")
	}
	for _, binary := range []*string{&o.against, &o.from} {
		if *binary != "" {
			absolute, err := filepath.Abs(*binary) // as -program: a name is not searched for in $PATH
			if err != nil {
				wrong(err.Error())
			}
			*binary = absolute
		}
	}
	o.setKinds(named, *damage)
	if o.from != "" && !slices.Contains(o.kinds, "roll") {
		wrong("-from wants roll among the faults: -long, or -kinds")
	}
	return o, false
}

// setKinds sets the kinds of faults by their names, or by the length of the run.
func (o *options) setKinds(named string, damage bool) {
	upTo := ofAnyRun
	if o.long > 0 {
		upTo, o.time, o.faults = ofLongRun, min(o.long, seedTime), math.MaxInt
	}
	if o.kinds = kindNames(upTo); named != "" {
		o.kinds = strings.Split(named, ",")
	}
	all := kindNames(ofDamage)
	if unknown := slices.IndexFunc(o.kinds, func(k string) bool { return !slices.Contains(all, k) }); unknown >= 0 {
		wrong(fmt.Sprintf("-kinds %q: want some of %s", o.kinds[unknown], strings.Join(all, ", ")))
	}
	if damage {
		for _, k := range kinds {
			if k.class == ofDamage && !slices.Contains(o.kinds, k.name) {
				o.kinds = append(o.kinds, k.name)
			}
		}
	}
}

// seedTime is how long faults happen for each seed of a long run: so long that nodes come
// and go several times, so short that all of its history can be judged.
const seedTime = 10 * time.Minute

// wrong ends the process: it cannot run.
func wrong(what string) {
	fmt.Fprintln(os.Stderr, "nemesis:", what)
	os.Exit(2)
}

// contained runs the seeds inside the namespaces.
func (o *options) contained(program, folder string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(o.leaveOut(ctx), o.buildOther(ctx, folder)); err != nil {
		fmt.Fprintln(os.Stderr, "nemesis:", err)
		return 2
	}
	var sum totals
	for begun := time.Now(); o.more(len(sum), time.Since(begun)); {
		err := o.runSeed(ctx, o.seed+uint64(len(sum)), program, folder, &sum)
		switch {
		case errors.Is(err, errViolated):
			code = 1
		case err != nil:
			fmt.Fprintln(os.Stderr, "nemesis:", err)
			return 2
		}
	}
	fmt.Println(sum)
	return code
}

// more reports whether another seed is to begin, after so many.
func (o *options) more(seeds int, took time.Duration) bool {
	if o.long > 0 {
		return took < o.long
	}
	return seeds < o.seeds
}

// buildOther builds the program that nodes are rolled to, where they are.
func (o *options) buildOther(ctx context.Context, folder string) (err error) {
	if o.against == "" && o.from == "" && slices.Contains(o.kinds, "roll") {
		o.against, err = child.BuildAs(ctx, folder, secondVersion)
	}
	return err
}

// leaveOut removes the faults that this machine cannot make, and says so; in CI a
// missing strace is an error.
func (o *options) leaveOut(ctx context.Context) error {
	if !slices.ContainsFunc(o.kinds, ofDisk) {
		return nil
	}
	err := diskfault.CanTrace(ctx)
	if err == nil || os.Getenv("CI") == "true" {
		return err
	}
	o.kinds = slices.DeleteFunc(o.kinds, ofDisk)
	fmt.Println("left out, faults of disks:", err)
	if len(o.kinds) == 0 {
		return errors.New("nothing is left to do")
	}
	return nil
}
