package channel

import "time"

// LongestRest is how long a host rests at most, whatever it says.
const LongestRest = 24 * time.Hour

// Rest is a host that has asked a node not to be asked so soon: no node asks it before
// the rest is over.
type Rest struct {
	Host     ID        // [HostID]
	Until    time.Time // in microseconds where it was replicated
	Refusals uint8     // in a row, as the node counts them that was refused; at least 1
	Turn     uint64    // overlay's phase of the channel that was refused: the others' turn comes first
}

// Merge returns what follows from two rests of one host: the later end, the turn that
// goes with it, and the more refusals.
func (r Rest) Merge(other Rest) Rest {
	refusals := max(r.Refusals, other.Refusals)
	if other.Until.After(r.Until) {
		r = other
	}
	r.Refusals = refusals
	return r
}
