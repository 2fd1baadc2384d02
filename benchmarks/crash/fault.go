package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
)

// The kinds of rounds: what a process goes through before it is killed, if it does
// not end by itself.
const (
	KindKill   = "kill"   // nothing
	KindENOSPC = "enospc" // writes fail for want of space
	KindEIO    = "eio"    // a sync fails
	KindSlow   = "slow"   // syncs take 2 s
	KindStall  = "stall"  // syncs take 15 s
	KindFull   = "full"   // the disk is full, also for whoever looks
)

// kinds are all of them, in the order in which they are told of.
var kinds = []string{KindKill, KindENOSPC, KindEIO, KindSlow, KindStall, KindFull}

// Fault is a time in which the disk failed.
type Fault struct {
	Kind string
	From Instant
	// Full is when a disk that is filled up had taken the last byte: from From on it
	// had less and less space.
	Full Instant
	To   Instant // when it began to be well again, or its process was gone; 0: not yet
	Hits []Hit   // the calls that failed or waited, in order
	// Ended is when the process ended by itself, with what code and what it said
	// last; 0: it did not.
	Ended Instant
	Code  int
	Said  string
	// Watched: after To the process was left alone for acceptWithin, or until it
	// acknowledged a subscription.
	Watched bool
}

// Hit is a system call that was made to fail or to wait.
type Hit struct {
	At         Instant
	Call, Path string
}

const (
	slowSync    = 2 * time.Second
	stalledSync = 15 * time.Second
	// holdLeast and holdMost bound how long writes fail or take 2 s.
	holdLeast, holdMost = time.Second, 5 * time.Second
	// sinceHit is how many calls of a thread go well at first, at most.
	sinceHit = 20
)

// hold returns how long a fault lasts unless the process ends.
func hold(kind string, random *rand.Rand) time.Duration {
	switch kind {
	case KindEIO:
		return stopWithin + 2*time.Second // a first sync may take as long to come
	case KindStall:
		return stopStalled + 2*time.Second // less than stalledSync after the first
	}
	return holdLeast + upTo(random, holdMost-holdLeast)
}

// injection returns what strace is to do.
func injection(kind string, random *rand.Rand) diskfault.Injection {
	first := 1 + random.IntN(sinceHit)
	switch kind {
	case KindENOSPC:
		return diskfault.NoSpace(first, 1+random.IntN(3))
	case KindEIO:
		return diskfault.FailedSync(1 + random.IntN(3))
	case KindSlow:
		return diskfault.SlowSync(slowSync)
	}
	return diskfault.SlowSync(stalledSync)
}

// errKind is a -faults that cannot be.
var errKind = errors.New("want names of faults, with commas")

// parseKinds reads -faults.
func parseKinds(text string) ([]string, error) {
	wanted := strings.Split(text, ",")
	for _, kind := range wanted {
		if !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("-faults %q: %w: %s", kind, errKind, strings.Join(kinds, ", "))
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return slices.Index(kinds, a) - slices.Index(kinds, b) })
	return slices.Compact(wanted), nil
}

// byDefault are the kinds of a run that names none, as far as they are possible.
var byDefault = []string{KindKill, KindENOSPC, KindEIO}

// possible returns those of the kinds that this machine can make, and why not the
// others.
func possible(wanted []string, canTrace, canMount error) (kinds, leftOut []string) {
	for _, kind := range wanted {
		var err error
		switch kind {
		case KindKill:
		case KindFull:
			err = canMount
		default:
			err = canTrace
		}
		if err != nil {
			leftOut = append(leftOut, fmt.Sprintf("%s: %v", kind, err))
		} else {
			kinds = append(kinds, kind)
		}
	}
	return kinds, leftOut
}

// deck deals the kinds of rounds: of each fault one among killsPerFault kills, in
// an order by chance, and then again in another.
type deck struct {
	random *rand.Rand
	kinds  []string
	left   []string
}

const killsPerFault = 3

func (d *deck) deal() string {
	if len(d.left) == 0 {
		for _, kind := range d.kinds {
			n := 1
			if kind == KindKill {
				n = max(1, killsPerFault*(len(d.kinds)-1))
			}
			d.left = append(d.left, slices.Repeat([]string{kind}, n)...)
		}
		d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	kind := d.left[0]
	d.left = d.left[1:]
	return kind
}
