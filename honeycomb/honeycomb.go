// Package honeycomb decides how often every channel is polled: it solves
//
//	minimise Σ valueᵢ(rᵢ)  subject to  Σ costᵢ(rᵢ) ≤ limit
//
// over a ladder of rates, for Corona's five policies, with bounds per channel
// and caps per host, for all channels at once, for a few that changed, or for
// the channels of one owner among many. It also estimates how often a channel
// changes.
//
// Everything is a pure function of its arguments: no clock, no goroutine, no
// I/O, no randomness; equal input gives equal output. DESIGN.md has the
// mathematics.
package honeycomb

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Config says what is optimised, over which rates, within which limits.
type Config struct {
	Policy Policy
	Ladder Ladder
	Cost   Cost

	Nodes    int           // egress labels that can poll, at least 1
	Interval time.Duration // τ, at least a second
	Floor    time.Duration // shortest time between two polls of a channel by one node; 0: Interval

	// Budget is the most that Σ cost·rate may be, in polls or bytes per
	// interval. 0 means auto: Σ subscribers·cost, what they would cause alone.
	Budget float64
	// Capacity is a second ceiling of the same kind: what the cluster was
	// measured to carry. 0 means none.
	Capacity float64
	// Target is [Fast]'s mean wait of a change, weighted by subscribers.
	Target time.Duration

	// HostCap is the most polls per interval for all channels of one host, for
	// hosts without an entry in HostCaps. 0 means no cap.
	HostCap float64
	// HostCaps, by the numbers of Channels.Host, may be nil or shorter than
	// there are hosts; an entry of 0 means HostCap.
	HostCaps []float64
}

// Channels are the factors of all channels, one column each, by row. Columns
// are read by [Prepare] and by [Problem.Update], and never written.
type Channels struct {
	Subscribers    []float64 // q; a channel with 0 is never polled
	SizeBytes      []float64 // bytes per poll; may be nil when cost is Polls
	UpdateInterval []float64 // seconds, clamped to a minute and a week; may be nil for Lite and Fast
	Host           []int32   // hosts are numbered from 0, without large gaps; negative: none; nil: none have one
	MinRate        []float64 // polls per interval, 0: no wish; nil: none
	MaxRate        []float64 // polls per interval, 0: no bound; nil: none
}

// Len returns the number of rows.
func (ch Channels) Len() int { return len(ch.Subscribers) }

// ErrConfig is in the chain of every error about a [Config].
var ErrConfig = errors.New("bad configuration")

// A RowError is one value that no solution can be built on.
type RowError struct {
	Row    int // from 0
	Column string
	Value  float64
	Reason string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d: %s %v %s", e.Row, e.Column, e.Value, e.Reason)
}

// Values may be 0 or from smallest to largest, so that no ratio of two of them
// leaves the range of a float64.
const (
	smallest = 1e-100
	largest  = 1e100
)

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	switch {
	case c.Policy >= policies:
		return fmt.Errorf("%w: unknown policy %d", ErrConfig, c.Policy)
	case c.Cost >= costs:
		return fmt.Errorf("%w: unknown cost %d", ErrConfig, c.Cost)
	case c.Nodes < 1:
		return fmt.Errorf("%w: %d nodes", ErrConfig, c.Nodes)
	case c.Interval < time.Second:
		return fmt.Errorf("%w: interval %v is under a second", ErrConfig, c.Interval)
	case c.Floor < 0 || c.Floor > c.Interval:
		return fmt.Errorf("%w: floor %v is not within the interval of %v", ErrConfig, c.Floor, c.Interval)
	case c.Policy == Fast && c.Target <= 0:
		return fmt.Errorf("%w: policy fast needs a target", ErrConfig)
	}
	return c.validateLimits()
}

func (c Config) validateLimits() error {
	limits := []struct {
		name  string
		value float64
	}{{"budget", c.Budget}, {"capacity", c.Capacity}, {"host cap", c.HostCap}}
	for _, limit := range limits {
		if !usable(limit.value) {
			return fmt.Errorf("%w: %s %v", ErrConfig, limit.name, limit.value)
		}
	}
	for host, value := range c.HostCaps {
		if !usable(value) {
			return fmt.Errorf("%w: cap %v of host %d", ErrConfig, value, host)
		}
	}
	return nil
}

// usable says whether a value is 0 or of a size that can be computed with.
func usable(v float64) bool { return v == 0 || (v >= smallest && v <= largest) }

// floor returns the floor that counts: the interval itself when none is set,
// and for prefix ladders, whose nodes each poll once an interval.
func (c Config) floor() time.Duration {
	if c.Floor == 0 || c.Ladder.kind == prefixLadder {
		return c.Interval
	}
	return c.Floor
}

// Width returns how many nodes a rate takes: the fewest that each keep the
// floor; 0 for rate 0.
func (c Config) Width(rate float64) int {
	if rate <= 0 {
		return 0
	}
	n := math.Ceil(rate * float64(c.floor()) / float64(c.Interval) * (1 - 1e-12))
	return min(max(int(n), 1), c.Nodes)
}
