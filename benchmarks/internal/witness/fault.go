package witness

import (
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
)

// The kinds of what a process goes through before it is killed, if it does not end by
// itself.
const (
	KindKill   = "kill"   // nothing
	KindENOSPC = "enospc" // writes fail for want of space
	KindEIO    = "eio"    // a sync fails
	KindSlow   = "slow"   // syncs take 2 s
	KindStall  = "stall"  // syncs take 15 s
	KindFull   = "full"   // the disk is full, also for whoever looks
)

// Kinds are all of them, in the order in which they are told of.
var Kinds = []string{KindKill, KindENOSPC, KindEIO, KindSlow, KindStall, KindFull}

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
	// Watched: after To the process was left alone for AcceptWithin, or until it
	// acknowledged a subscription.
	Watched bool
}

// Hit is a system call that was made to fail or to wait.
type Hit struct {
	At         Instant
	Call, Path string
}

const (
	// SlowSync and StalledSync are what a sync takes beside KindSlow and KindStall.
	SlowSync    = 2 * time.Second
	StalledSync = 15 * time.Second
	// holdLeast and holdMost bound how long writes fail or take 2 s.
	holdLeast, holdMost = time.Second, 5 * time.Second
	// sinceHit is how many calls of a thread go well at first, at most.
	sinceHit = 20
)

// Hold returns how long a fault of a disk lasts unless the process ends.
func Hold(kind string, random *rand.Rand) time.Duration {
	switch kind {
	case KindEIO:
		return StopWithin + 2*time.Second // a first sync may take as long to come
	case KindStall:
		return StopStalled + 2*time.Second // less than StalledSync after the first
	}
	return holdLeast + UpTo(random, holdMost-holdLeast)
}

// Injection returns what strace is to do for a kind of fault of a disk; from which call
// on is drawn.
func Injection(kind string, random *rand.Rand) diskfault.Injection {
	first := 1 + random.IntN(sinceHit)
	switch kind {
	case KindENOSPC:
		return diskfault.NoSpace(first, 1+random.IntN(3))
	case KindEIO:
		return diskfault.FailedSync(1 + random.IntN(3))
	case KindSlow:
		return diskfault.SlowSync(SlowSync)
	}
	return diskfault.SlowSync(StalledSync)
}
