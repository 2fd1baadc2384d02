package ownership

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A leader's clock gives commands their times, which decide how long keys and updates
// are kept. So a node whose clock is far from the others' leads nothing.
const (
	mostSkew       = 2 * time.Second
	clockEvery     = time.Second
	leastSkewNodes = 3 // of two clocks that differ, either may be wrong
)

// skewOf returns how far this node's clock is from the median of all nodes' clocks, of
// which offsets are the others' less this one; 0 if they are too few to say.
func skewOf(offsets []time.Duration) time.Duration {
	clocks := append([]time.Duration{0}, offsets...)
	if len(clocks) < leastSkewNodes {
		return 0
	}
	slices.Sort(clocks)
	return -clocks[(len(clocks)-1)/2]
}

// watchClocks compares the clocks until ctx ends.
func (l *leadership) watchClocks(ctx context.Context) { every(ctx, clockEvery, l.compareClocks) }

// compareClocks gives leadership away when this node's clock has gone wrong, and lets it
// lead again when that is right.
func (l *leadership) compareClocks() {
	var offsets []time.Duration
	for _, node := range l.Nodes() {
		if !node.Self && !node.Silent() && node.RTT > 0 {
			offsets = append(offsets, node.ClockOffset)
		}
	}
	skew := skewOf(offsets)
	off := skew.Abs() > mostSkew
	if off == (l.skew.Load() != 0) {
		return
	}
	if !off {
		l.skew.Store(0)
		l.tools.log.Info("clock is right again: this node may lead")
		return
	}
	l.tools.log.Warn("clock differs from the other nodes': this node leads nothing", "ahead", skew)
	l.handOver()
	l.skew.Store(int64(skew))
}

// checkClock returns an ErrUnavailable that says how wrong the clock is.
func (l *leadership) checkClock() error {
	if skew := time.Duration(l.skew.Load()); skew != 0 {
		return fmt.Errorf("%w: the clock is %s ahead of the other nodes', so this node leads nothing", ErrUnavailable, skew.Round(100*time.Millisecond))
	}
	return nil
}
