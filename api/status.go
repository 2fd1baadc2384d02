package api

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Status is the answer of GET /v1/status.
type Status struct {
	Node          string    `json:"node"`
	Version       string    `json:"version"` // of the program
	Cluster       Cluster   `json:"cluster"`
	Load          Load      `json:"load"`
	Detection     Detection `json:"detection"`
	Optimiser     Optimiser `json:"optimiser"`
	Polling       Polling   `json:"polling"`
	Channels      uint64    `json:"channels"`
	Subscriptions uint64    `json:"subscriptions"`
	Uncounted     int       `json:"ranges_uncounted,omitempty"` // ranges that gave no answer, whose channels and subscriptions are not counted
	Disk          Disk      `json:"disk"`
}

// Disk is the file system of the node's data directory. Below its reserve, new
// subscriptions are refused (low), below half of that new versions too (critical).
type Disk struct {
	State        string `json:"state"` // "ok", "low" or "critical"
	FreeBytes    uint64 `json:"free_bytes"`
	ReserveBytes uint64 `json:"reserve_bytes"`
}

// Cluster is what a node sees of its cluster.
type Cluster struct {
	ID      string   `json:"id"`    // 32 hex digits
	Nodes   []string `json:"nodes"` // names
	Members []Member `json:"members"`
	Ranges  []Range  `json:"ranges"`
}

// Member is a node of the cluster as the answering node found it last.
type Member struct {
	Name    string `json:"name"`
	Address string `json:"address"` // where other nodes reach it; empty for a node alone
	State   string `json:"state"`   // "alive", "suspect" (it has missed an answer), "dead" (three in a row) or "draining"
	Leads   int    `json:"leads"`   // ranges

	// What it polls, whoever owns the channels; null where it does not say.
	PollsPerS *float64 `json:"polls_per_s"`
	Share     *float64 `json:"share"` // of the polls of all that say
	Channels  *int     `json:"channels"`
	LagS      *float64 `json:"lag_s"` // how long the poll has been due that has waited longest for the node

	RTTMs         *float64 `json:"rtt_ms"` // null for the answering node, and while unknown
	ClockOffsetMs *float64 `json:"clock_offset_ms"`
}

// Range is a run of buckets, From to To inclusive, that one Raft group replicates.
type Range struct {
	ID       uint32         `json:"id"`
	From     channel.Bucket `json:"from"`
	To       channel.Bucket `json:"to"`
	Leader   string         `json:"leader"`   // empty while there is none
	Replicas []string       `json:"replicas"` // nodes whose replicas vote: one that is being made has not all yet
	Term     uint64         `json:"term"`
	Applied  uint64         `json:"applied"`
}

// Load is what the cluster asks of the origins.
type Load struct {
	PollsPerS               float64 `json:"polls_per_s"`               // measured
	BudgetPollsPerInterval  float64 `json:"budget_polls_per_interval"` // 0 where the budget is of bytes
	PlannedPollsPerInterval float64 `json:"planned_polls_per_interval"`
}

// Detection is how long a change waits until it is noticed, on average over
// subscriptions.
type Detection struct {
	PlannedS float64 `json:"planned_s"`
	BoundS   float64 `json:"bound_s"` // no allocation of the same budget does better
}

// Optimiser is what rates are solved for, and how that stands. Loads are in its
// cost's unit per interval.
type Optimiser struct {
	Policy       string     `json:"policy"`
	Ladder       string     `json:"ladder"`
	Cost         string     `json:"cost"` // "polls" or "bytes"
	TargetS      float64    `json:"target_s,omitempty"`
	IntervalS    float64    `json:"interval_s"`
	MaintenanceS float64    `json:"maintenance_s"`
	Budget       float64    `json:"budget"`
	BudgetAuto   bool       `json:"budget_auto"` // it is what the subscribers would cause alone
	Capacity     *float64   `json:"capacity"`    // what the node was measured to carry; nil: more than it is asked for
	Planned      float64    `json:"planned"`
	Measured     float64    `json:"measured_polls"` // of those planned, over the last minute, per interval; polls whatever the cost
	FirstPolls   int        `json:"first_polls"`    // in the last minute, of channels without content: beside the plan
	LambdaS      float64    `json:"lambda_s"`       // what a step must be worth, as in [Worth]
	HostsBound   int        `json:"hosts_bound"`    // whose cap keeps polls out
	Feasible     bool       `json:"feasible"`
	Unmet        Unmet      `json:"unmet"`
	Solved       *time.Time `json:"solved"` // nil: not yet
	SolveMs      float64    `json:"solve_ms"`
	Updates      uint64     `json:"updates"` // solves of a few changed channels since the last one of all
}

// Unmet says which limits no rates could keep; the nearest were taken.
type Unmet struct {
	Budget   bool `json:"budget"`   // the lowest rates cost more
	Target   bool `json:"target"`   // budget, or highest rates, do not reach it
	Channels int  `json:"channels"` // outside bounds of their own
	Hosts    int  `json:"hosts"`    // beyond their cap at the lowest rates
}

// Polling is what a node's polls meet.
type Polling struct {
	FailingChannels int `json:"failing_channels"` // whose last poll failed
	RestingHosts    int `json:"resting_hosts"`    // that asked not to be asked for a while
}
