// Command crash kills a node at random instants, as often as it is told, some of the
// times after its disk has failed, hung or filled up, while clients subscribe,
// unsubscribe and receive all the time and an origin keeps changing; and checks that
// nothing was lost that had been acknowledged, nothing came back that had been
// deleted, and every version that was committed arrived, once under one ID, in
// order. It uses the contract alone: the program, which it builds, its HTTP API, its
// webhooks and its streams.
//
//	go run ./benchmarks/crash -kills 200 -seed 1 -faults kill,enospc,eio,slow,stall,full
//
// It ends with 0 when every rule holds; with 1 when one does not, says which, and
// leaves the data directory and the log of the node; with 2 when it could not run.
//
// [Check] is the judge: a pure function of what was seen from outside and of the
// node's state by its API. The rest brings that about.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

func main() {
	var o options
	flag.IntVar(&o.kills, "kills", 200, "how often to end the node, by kills and faults")
	flag.Uint64Var(&o.seed, "seed", 1, "what the instants and the clients' actions follow from")
	faults := flag.String("faults", "", "`names` of what happens to a process before its end, with commas: "+strings.Join(witness.Kinds, ", ")+
		"; by default "+strings.Join(byDefault, ", ")+", as far as this machine can")
	flag.DurationVar(&o.duration, "duration", time.Hour, "stop killing after this time, whatever -kills says")
	flag.BoolVar(&o.keep, "keep", false, "keep data directory and log when every rule holds, too")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.Parse()
	if flag.NArg() > 0 || o.kills < 0 || o.duration <= 0 {
		fmt.Fprintln(os.Stderr, "crash: want no arguments, -kills of at least 0 and a -duration above 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.choose(ctx, *faults, os.Stdout)
	if err == nil {
		err = execute(ctx, o, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(exitCode(err))
	}
}

// choose sets the kinds of rounds: those that were named, or the default ones, as
// far as the machine can make them, and says what it left out. In CI strace must
// be there.
func (o *options) choose(ctx context.Context, named string, out io.Writer) error {
	wanted, err := byDefault, error(nil)
	if named != "" {
		wanted, err = parseKinds(named)
	}
	if err != nil {
		return err
	}
	var canTrace, canMount error
	if len(wanted) > 1 || wanted[0] != witness.KindKill {
		canTrace = diskfault.CanTrace(ctx)
	}
	if slices.Contains(wanted, witness.KindFull) {
		canMount = diskfault.CanMount(ctx)
	}
	var leftOut []string
	o.kinds, leftOut = possible(wanted, canTrace, canMount)
	for _, line := range leftOut {
		fmt.Fprintln(out, "left out:", line)
	}
	if canTrace != nil && os.Getenv("CI") == "true" && errors.Is(canTrace, exec.ErrNotFound) {
		return canTrace
	}
	if len(o.kinds) == 0 {
		return errors.New("nothing is left to do")
	}
	return nil
}

// exitCode returns 1 for what the node did wrong, 2 for the rest.
func exitCode(err error) int {
	if errors.Is(err, errViolated) || errors.Is(err, child.ErrEnded) {
		return 1
	}
	return 2
}
