package local

// A Corrector is an integral controller that steers the sum of all plans to the limit:
// in each maintenance interval it moves the limit that every owner solves for by a part
// of the error that the clusters leave.
type Corrector struct {
	// Gain is how much of an error is taken back in one interval; 0 means
	// DefaultGain. More than MostGain is taken for MostGain: what is corrected
	// is seen one or two intervals late, and a gain of 1 oscillates.
	Gain float64

	factor float64
}

const (
	// DefaultGain settles without overshoot when plans are seen two intervals
	// late: 4/27 is critical damping there (1/4 with one).
	DefaultGain = 4.0 / 27
	MostGain    = 0.3

	farthest = 1.25 // the largest factor, and the inverse of the smallest
)

// Factor returns the factor on the limit as it is.
func (c *Corrector) Factor() float64 {
	if c.factor == 0 {
		return 1
	}
	return c.factor
}

// Next takes the sum of all plans, the load that was measured (0: not), and the
// limit they are to meet, and returns the factor on the limit. What was measured
// may only lower it. When the limit did not bind, there is nothing to correct
// and the factor goes back to 1.
func (c *Corrector) Next(planned, measured, limit float64, binds bool) float64 {
	gain := DefaultGain
	if c.Gain > 0 {
		gain = min(c.Gain, MostGain)
	}
	c.factor = c.Factor()
	load := max(planned, measured)
	switch {
	case !binds && load <= limit:
		c.factor += gain * (1 - c.factor)
	case load > 0 && limit > 0:
		c.factor *= 1 + gain*(limit/max(load, limit/4)-1)
	}
	c.factor = min(max(c.factor, 1/farthest), farthest)
	return c.factor
}
