// Command crash kills a node at random instants, at least as often as it is told,
// while clients subscribe, unsubscribe and receive all the time and an origin
// keeps changing; and checks that nothing was lost that had been acknowledged,
// nothing came back that had been deleted, and every version that was committed
// arrived, once under one ID, in order. It uses the contract alone: the program, which
// it builds, its HTTP API, its webhooks and its streams.
//
//	go run ./benchmarks/crash -kills 200 -seed 1
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
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/child"
)

func main() {
	var o options
	flag.IntVar(&o.kills, "kills", 200, "how often to kill the node")
	flag.Uint64Var(&o.seed, "seed", 1, "what the instants and the clients' actions follow from")
	flag.DurationVar(&o.duration, "duration", time.Hour, "stop killing after this time, whatever -kills says")
	flag.BoolVar(&o.keep, "keep", false, "keep data directory and log when every rule holds, too")
	flag.StringVar(&o.program, "program", "", "the corona `binary` to test, rather than one built from this module")
	flag.Parse()
	if flag.NArg() > 0 || o.kills < 0 || o.duration <= 0 {
		fmt.Fprintln(os.Stderr, "crash: want no arguments, -kills of at least 0 and a -duration above 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns 1 for what the node did wrong, 2 for the rest.
func exitCode(err error) int {
	if errors.Is(err, errViolated) || errors.Is(err, child.ErrEnded) {
		return 1
	}
	return 2
}
