// Package result is what a run of a scenario found: the figures of result.json, the
// thresholds on them, and the folder in which results lie.
package result

// Result is result.json.
type Result struct {
	Scenario string  `json:"scenario"`
	Seed     uint64  `json:"seed"`
	Version  string  `json:"version"` // of the nodes
	Duration float64 `json:"duration_s"`

	Channels          int     `json:"channels"`
	Subscriptions     int     `json:"subscriptions"`
	Polls             int64   `json:"polls"` // requests that the origins got in the window
	PollsPerS         float64 `json:"polls_per_s"`
	PlannedPollsPerS  float64 `json:"planned_polls_per_s"` // by the generator's own plan
	NotModifiedRatio  float64 `json:"not_modified_ratio"`
	OriginBytes       int64   `json:"origin_bytes"`       // of documents, as sent
	UpdatesPublished  int     `json:"updates_published"`  // changes in the window
	UpdatesDetected   int     `json:"updates_detected"`   // of these: a body with the change was sent to a node
	UpdatesMissed     int     `json:"updates_missed"`     // of these: stood long enough, and some subscription never got it
	UpdatesFalse      int     `json:"updates_false"`      // updates without a change
	Deliveries        int64   `json:"deliveries"`         // updates that arrived at subscriptions
	DeliveriesMissing int64   `json:"deliveries_missing"` // changes that single subscriptions did not get
	Duplicates        int64   `json:"duplicates"`
	OutOfOrder        int64   `json:"out_of_order"`
	PollsSkipped      int64   `json:"polls_skipped"`   // gaps over 1.5 times the planned one while the rate stood
	PlanOverBound     float64 `json:"plan_over_bound"` // the nodes' rates beside the best there are
	WaitOverBound     float64 `json:"wait_over_bound"` // the same by the gaps that the origins measured

	Detection Detection `json:"detection_ms"`
	Delivery  Spread    `json:"delivery_ms"`
	Lateness  Lateness  `json:"lateness_ms"` // how much longer than planned gaps between polls were

	BudgetRatio     float64 `json:"budget_ratio"` // polls beside the most that the budget allows
	FloorViolations int64   `json:"floor_violations"`
	HostViolations  int64   `json:"host_violations"` // requests to hosts that had asked to be left alone
	LyingDates      int64   `json:"lying_dates"`     // answers whose dates were hours off

	CPUSeconds   float64 `json:"cpu_s"` // of all nodes, in the window
	CPUPerPollUs float64 `json:"cpu_us_per_poll"`
	RSSMax       int64   `json:"rss_max_bytes"` // of the largest node

	Nodes      []Node    `json:"nodes"`
	Generator  Generator `json:"generator"`
	Thresholds []Verdict `json:"thresholds"`

	Interrupted bool     `json:"interrupted,omitempty"` // the window was cut short
	Events      []Event  `json:"events,omitempty"`
	Notes       []string `json:"notes,omitempty"` // what of the figures cannot be known, and why
}

// Spread is a distribution, in milliseconds.
type Spread struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
}

// Detection is from the instant of a change until a body with it is sent to a node.
type Detection struct {
	Spread
	Planned   Planned `json:"planned"`    // of the same changes, by the generator's plan
	BoundMean float64 `json:"bound_mean"` // no plan within the limits has a lower mean over subscribers
}

// Planned is what a plan makes of the changes that there were.
type Planned struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

// Lateness is how late polls were.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Node is one node. Its polls are not known from outside where it is one of several.
type Node struct {
	Name       string  `json:"name"`
	Polls      int64   `json:"polls"`
	CPUSeconds float64 `json:"cpu_s"`
	RSSMax     int64   `json:"rss_max_bytes"`
}

// Generator is the load generator itself.
type Generator struct {
	CPUSeconds float64 `json:"cpu_s"`
	Lateness   struct {
		P99 float64 `json:"p99"`
	} `json:"lateness_ms"` // of a timer that ticks through the window
	Limited bool     `json:"limited"`           // the generator was, or may have been, the bottleneck
	Reasons []string `json:"reasons,omitempty"` // why
}

// Event is something that happened in the window.
type Event struct {
	AtS  float64 `json:"at_s"` // when it was meant to
	What string  `json:"what"`
	Err  string  `json:"error,omitempty"`
}

// OK reports whether no threshold is broken and the generator was not the limit.
func (r *Result) OK() bool {
	for _, v := range r.Thresholds {
		if !v.OK {
			return false
		}
	}
	return !r.Generator.Limited && !r.Interrupted
}
