package engine

import (
	"math/bits"
	"time"
)

// recent remembers how late the polls of the last minute began, in steps of ten
// seconds. Guarded by Engine.mu.
type recent struct {
	steps [recentSteps]recentStep
}

// recentStep counts the polls of one step by lateness.
type recentStep struct {
	number int64 // nanoseconds since the epoch over stepLength
	total  uint32
	counts [latenessBuckets]uint32
}

const (
	recentSteps = 6
	stepLength  = int64(10 * time.Second)

	// Lateness is counted in eighths of powers of two of a microsecond: at most an
	// eighth too high, up to 2^39 µs.
	bucketBits      = 3
	latenessBuckets = 40 << bucketBits
)

func (r *recent) note(now int64, lateness time.Duration) {
	step := &r.steps[uint64(now/stepLength)%recentSteps]
	if step.number != now/stepLength {
		*step = recentStep{number: now / stepLength}
	}
	step.total++
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

// rate returns the polls per second, and percentile the lateness that a share of
// the polls did not exceed, over the last minute as far as it has been seen.
func (r *recent) summary(now int64, share float64) (rate float64, percentile time.Duration) {
	current := now / stepLength
	oldest, total := current, uint64(0)
	var counts [latenessBuckets]uint64
	for i := range r.steps {
		step := &r.steps[i]
		if step.total == 0 || step.number > current || step.number <= current-recentSteps {
			continue
		}
		oldest = min(oldest, step.number)
		total += uint64(step.total)
		for bucket, n := range step.counts {
			counts[bucket] += uint64(n)
		}
	}
	seconds := max(float64(now-oldest*stepLength)/float64(time.Second), 1)
	return float64(total) / seconds, percentileOf(&counts, total, share)
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
