package channel

import "time"

// What nodes take of a host's cap is counted in millionths of it: WholeCap is all of it.
// KeptBack of that is not granted: nodes use it without asking, each as much as any other.
const (
	WholeCap = 1_000_000
	KeptBack = WholeCap / 20
)

// Unasked returns what each of some nodes may take of a host's cap without a grant. A
// node alone has all of it.
func Unasked(nodes int) int64 {
	if nodes <= 1 {
		return WholeCap
	}
	return KeptBack / int64(nodes)
}

// Shared returns how many requests an interval some nodes may divide among them of those
// that a host takes: each of several may begin one more within one window of an interval
// than its part says, wherever the window lies. At most a twentieth is left out for that, and
// owners plan with less than what is left.
func Shared(requests float64, nodes int) float64 {
	if nodes <= 1 {
		return requests
	}
	return max(requests-float64(nodes), requests*19/20)
}

// Demand is how much of a host's cap a node's channels and waiting polls need.
type Demand struct {
	Host ID    // [HostID]
	Part int64 // of the cap, in millionths; at most WholeCap
}

// Led is how many channels of a host a node owns, or all nodes do.
type Led struct {
	Host     ID    `json:"host"` // [HostID]
	Channels int64 `json:"channels"`
}

// Grant is what a node may take of a host's cap until a time, beside what every node has.
type Grant struct {
	Host  ID
	Part  int64     // of the cap, in millionths; 0: none any more
	Until time.Time // of the node's monotonic clock
}
