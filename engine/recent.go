package engine

import (
	"math/bits"
	"time"
)

// recent remembers the polls of the last minute, what they counted as and how late
// they began, in steps of ten seconds. Guarded by Engine.mu.
type recent struct {
	steps [recentSteps]recentStep
}

// recentStep counts the polls of one step, and all of them by lateness.
type recentStep struct {
	number int64 // nanoseconds since the epoch over stepLength
	total  uint32
	kinds  [pollKinds]uint32
	counts [latenessBuckets]uint32
}

// pollKind says how an ended poll counts in comparison with the planned rates.
type pollKind uint8

const (
	byPlan    pollKind = iota // one of those that the channel's rate is for
	firstPoll                 // of a channel without content: rates do not plan it
	partial                   // none: a redirect whose target is still to be asked, or the origin was not asked
	pollKinds                 // their number
)

// minute is what recent polls come to.
type minute struct {
	perSecond float64 // all
	byPlan    float64 // per second
	firsts    int     // first polls
	lateness  time.Duration
}

const (
	recentSteps = 6
	stepLength  = int64(10 * time.Second)

	// Lateness is counted in eighths of powers of two of a microsecond: at most an
	// eighth too high, up to 2^39 µs.
	bucketBits      = 3
	latenessBuckets = 40 << bucketBits
)

func (r *recent) note(now int64, kind pollKind, lateness time.Duration) {
	step := &r.steps[uint64(now/stepLength)%recentSteps]
	if step.number != now/stepLength {
		*step = recentStep{number: now / stepLength}
	}
	step.total++
	step.kinds[kind]++
	step.counts[latenessBucket(lateness)]++
}

// latenessBucket returns the number of the bucket that a lateness falls into.
func latenessBucket(lateness time.Duration) int {
	micros := uint64(lateness / time.Microsecond)
	if micros < 1<<bucketBits {
		return int(micros)
	}
	exponent := bits.Len64(micros) - 1 - bucketBits
	bucket := exponent<<bucketBits + int(micros>>exponent)
	return min(bucket, latenessBuckets-1)
}

// bucketEnd returns where the next bucket begins.
func bucketEnd(bucket int) time.Duration {
	exponent := max(0, bucket>>bucketBits-1)
	return time.Duration(bucket-exponent<<bucketBits+1) << exponent * time.Microsecond
}

// summary returns what the polls of the last minute come to, as far as it has been
// seen; lateness is what a share of the polls did not exceed.
func (r *recent) summary(now int64, share float64) minute {
	current := now / stepLength
	oldest, total := current, uint64(0)
	var kinds [pollKinds]uint64
	var counts [latenessBuckets]uint64
	for i := range r.steps {
		step := &r.steps[i]
		if step.total == 0 || step.number > current || step.number <= current-recentSteps {
			continue
		}
		oldest = min(oldest, step.number)
		total += uint64(step.total)
		for kind, n := range step.kinds {
			kinds[kind] += uint64(n)
		}
		for bucket, n := range step.counts {
			counts[bucket] += uint64(n)
		}
	}
	seconds := max(float64(now-oldest*stepLength)/float64(time.Second), 1)
	return minute{
		perSecond: float64(total) / seconds,
		byPlan:    float64(kinds[byPlan]) / seconds,
		firsts:    int(kinds[firstPoll]),
		lateness:  percentileOf(&counts, total, share),
	}
}

func percentileOf(counts *[latenessBuckets]uint64, total uint64, share float64) time.Duration {
	var below uint64
	for bucket, n := range counts {
		below += n
		if n > 0 && float64(below) >= share*float64(total) {
			return bucketEnd(bucket)
		}
	}
	return 0
}
