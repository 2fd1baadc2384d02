package honeycomb

import (
	"fmt"
	"math"
	"time"
)

// Policy says what is minimised. With d = τ/2r the mean wait of a change:
type Policy uint8

const (
	Lite     Policy = iota // Σ q·d within the budget
	Fast                   // Σ cost·r with Σ q·d within the target
	Fair                   // Σ q·(τ/u)·d within the budget
	FairSqrt               // Σ q·√(τ/u)·d within the budget
	FairLog                // Σ q·(log τ/log u)·d within the budget
	policies
)

var policyNames = [policies]string{"lite", "fast", "fair", "fair-sqrt", "fair-log"}

func (p Policy) String() string {
	if p >= policies {
		return "unknown"
	}
	return policyNames[p]
}

// ParsePolicy reads what String prints.
func ParsePolicy(s string) (Policy, error) {
	for p, name := range policyNames {
		if s == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("%w: policy %q is none of lite, fast, fair, fair-sqrt, fair-log", ErrConfig, s)
}

// fair says whether update intervals count.
func (p Policy) fair() bool { return p >= Fair }

// Update intervals outside these bounds, in seconds, count as the bound: a
// minute is what one sees at most, a week is the paper's for channels that were
// never seen to change.
const (
	ShortestInterval = 60.0
	LongestInterval  = 7 * 24 * 3600.0
)

// weight returns a subscriber's weight for an update interval u in seconds,
// without the policy's scale, which all channels share.
func (p Policy) weight(u float64) float64 {
	u = min(max(u, ShortestInterval), LongestInterval)
	switch p {
	case Fair:
		return 1 / u
	case FairSqrt:
		return 1 / math.Sqrt(u)
	case FairLog:
		return 1 / math.Log(u)
	}
	return 1
}

// scale is what weight leaves out: τ, √τ or log τ of the interval in seconds.
func (p Policy) scale(interval time.Duration) float64 {
	tau := interval.Seconds()
	switch p {
	case Fair:
		return tau
	case FairSqrt:
		return math.Sqrt(tau)
	case FairLog:
		return math.Log(tau)
	}
	return 1
}

// Cost says what a poll costs.
type Cost uint8

const (
	Polls Cost = iota // 1
	Bytes             // the channel's bytes per poll
	costs
)

func (c Cost) String() string {
	switch c {
	case Polls:
		return "polls"
	case Bytes:
		return "bytes"
	}
	return "unknown"
}

// ParseCost reads what String prints.
func ParseCost(s string) (Cost, error) {
	switch s {
	case "polls":
		return Polls, nil
	case "bytes":
		return Bytes, nil
	}
	return 0, fmt.Errorf("%w: cost %q is neither polls nor bytes", ErrConfig, s)
}
