package sim

import (
	"math"
	"math/bits"
	"time"
)

// chance draws numbers by what they are for, not in turn: the same question has
// the same answer, in whatever order they are asked for.
type chance struct{ seed uint64 }

// A purpose keeps draws for different things apart.
type purpose uint64

const (
	forInterval purpose = iota + 1 // an update interval
	forUpdate                      // time between two updates
	forProbe
	forPhase    // a poller's first poll
	forUpkeep   // when in the interval a node does its maintenance
	forReader   // a legacy reader's first poll
	forTie      // which of two equal channels goes first
	forArrival  // of a subscription
	forSize     // bytes of a channel
	forHost     // of a channel
	forClock    // a node's clock error
	forFate     // which nodes die
	forSampling // of channels for a plot
	forRounding // of a channel's subscribers
)

// at returns 64 even bits. (Steele, Lea and Flood's SplitMix64, once for each
// word.)
func (c chance) at(p purpose, a, b uint64) uint64 {
	x := mix64(c.seed + 0x9e3779b97f4a7c15*uint64(p))
	x = mix64(x + 0x9e3779b97f4a7c15*(a+1))
	return mix64(x ^ bits.RotateLeft64(b*0x9e3779b97f4a7c15, 32))
}

func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit returns a number in [0, 1).
func (c chance) unit(p purpose, a, b uint64) float64 {
	return float64(c.at(p, a, b)>>11) / (1 << 53)
}

// within returns a time in [0, d).
func (c chance) within(d time.Duration, p purpose, a, b uint64) time.Duration {
	hi, _ := bits.Mul64(uint64(d), c.at(p, a, b))
	return time.Duration(hi)
}

// wait returns an exponentially distributed time.
func (c chance) wait(mean float64, p purpose, a, b uint64) float64 {
	return -mean * math.Log1p(-c.unit(p, a, b))
}

// normal returns a normally distributed number (Box and Muller).
func (c chance) normal(p purpose, a uint64) float64 {
	return math.Sqrt(-2*math.Log1p(-c.unit(p, a, 0))) * math.Cos(2*math.Pi*c.unit(p, a, 1))
}
