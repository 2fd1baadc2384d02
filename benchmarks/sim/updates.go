package sim

import "time"

// stratum is how often a channel is sure to change: where it does not by itself
// there is a probe, an update that is measured and that no owner learns from.
const stratum = 15 * time.Minute

// updates appends the times of a channel's updates before the horizon, in order:
// its own, a Poisson process of its update interval, and at a random time in
// each stratum that has none of these a probe.
func (w *workload) updates(dst []time.Duration, c int, horizon time.Duration) []time.Duration {
	next := w.untilNext(c, 0)
	for k, from := uint64(1), time.Duration(0); from < horizon; from += stratum {
		if next >= from+stratum {
			dst = append(dst, from+w.within(stratum, forProbe, uint64(c), uint64(from/stratum)))
			continue
		}
		for ; next < from+stratum; k++ {
			dst = append(dst, next)
			next += w.untilNext(c, k)
		}
	}
	for len(dst) > 0 && dst[len(dst)-1] >= horizon {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// ownUpdates appends the times of a channel's updates that are its own.
func (w *workload) ownUpdates(dst []time.Duration, c int, horizon time.Duration) []time.Duration {
	k := uint64(1)
	for next := w.untilNext(c, 0); next < horizon; k++ {
		dst = append(dst, next)
		next += w.untilNext(c, k)
	}
	return dst
}

func (w *workload) untilNext(c int, k uint64) time.Duration {
	return time.Duration(w.wait(w.updateInterval[c], forUpdate, uint64(c), k) * float64(time.Second))
}
