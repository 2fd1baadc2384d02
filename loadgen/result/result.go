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
	Crowd     float64   `json:"crowd_ms"`    // from a crowd until its channel was polled as often as is planned for it, at most

	BudgetRatio     float64 `json:"budget_ratio"` // polls beside the most that the budget allows
	FloorViolations int64   `json:"floor_violations"`
	HostViolations  int64   `json:"host_violations"` // requests to hosts that had asked to be left alone
	LyingDates      int64   `json:"lying_dates"`     // answers whose dates were hours off

	SubscriptionsLost  int64 `json:"subscriptions_lost"`  // acknowledged, and not among the subscribers that a node tells
	SubscriptionsExtra int64 `json:"subscriptions_extra"` // told by a node, and never asked for

	Fill    Fill     `json:"fill"`
	Singles *Singles `json:"subscribe_ms,omitempty"` // if the scenario makes single subscriptions

	CPUSeconds   float64 `json:"cpu_s"` // of all nodes, in the window
	CPUPerPollUs float64 `json:"cpu_us_per_poll"`
	RSSMax       int64   `json:"rss_max_bytes"` // of the largest node
	Disk         Disk    `json:"disk"`

	Memory  *Memory  `json:"memory,omitempty"`  // if the scenario probes it
	Restart *Restart `json:"restart,omitempty"` // likewise
	Lists   *Lists   `json:"lists,omitempty"`   // likewise
	Audit   *Audit   `json:"audit,omitempty"`   // if the scenario has requests audited
	Rates   *Rates   `json:"rates,omitempty"`   // if the scenario has rates followed
	Backup  *Backup  `json:"backup,omitempty"`  // if the scenario probes it
	Entries *Entries `json:"entries,omitempty"` // if the origins replay recorded documents

	EventsFailed  int64   `json:"events_failed"`
	EventsLongest float64 `json:"events_longest_s"`

	Nodes      []Node    `json:"nodes"`
	Generator  Generator `json:"generator"`
	Thresholds []Verdict `json:"thresholds"`

	Interrupted bool     `json:"interrupted,omitempty"` // the window was cut short
	Failed      []string `json:"failed,omitempty"`      // what was to be measured, and could not be
	Events      []Event  `json:"events,omitempty"`
	Notes       []string `json:"notes,omitempty"` // what of the figures cannot be known, and why
}

// Fill is what came before the warm-up: subscriptions, and first polls of all channels. The
// processor is that of all nodes, whatever they did besides.
type Fill struct {
	SubscribeS  float64 `json:"subscribe_s"` // from the first request to the last answer
	PerS        float64 `json:"subscriptions_per_s"`
	Refused     int64   `json:"refused"`                       // subscriptions that were refused for now, and asked for again
	CPUUs       float64 `json:"cpu_us_per_subscription"`       // until the last answer
	GeneratorUs float64 `json:"generator_us_per_subscription"` // likewise, of the generator's processor
	Written     int64   `json:"written_bytes"`                 // likewise, by all nodes, to the disk
	FirstPollsS float64 `json:"first_polls_s"`                 // from then until each channel had content
	ChannelUs   float64 `json:"cpu_us_per_channel"`            // from the first request until then
	RSSMax      int64   `json:"rss_max_bytes"`                 // of the largest node until then
}

// Singles is from when a single subscription was due until it was acknowledged, at whichever node.
type Singles struct {
	Spread
	Calm           Spread  `json:"calm"`             // of those that no event was beside
	Beside         Spread  `json:"beside"`           // of the others
	BesideOverCalm float64 `json:"beside_over_calm"` // p99
	Failed         int     `json:"failed"`           // were not made, or not ended
}

// Disk is what all nodes keep and write.
type Disk struct {
	Bytes   int64            `json:"bytes"`         // in the data directories, at the window's end
	Folders map[string]int64 `json:"by_folder"`     // the same, two levels deep
	Written int64            `json:"written_bytes"` // sent to the disk in the window
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

// Memory is where a node's resident memory is after the window, right after a collection of
// its heap: the first node's, by its own word.
type Memory struct {
	RSS        int64            `json:"rss_bytes"`
	PerChannel float64          `json:"rss_bytes_per_channel"`
	Live       int64            `json:"heap_live_bytes"`
	Packages   map[string]int64 `json:"by_package"` // what they hold of the live heap, sampled
	Stacks     int64            `json:"stack_bytes"`
	Runtime    int64            `json:"runtime_bytes"`    // spans, collector, profiles
	Free       int64            `json:"heap_free_bytes"`  // garbage, and heap kept for what comes
	Outside    int64            `json:"outside_go_bytes"` // block caches and memtables, the program itself
}

// Restart is how long a node, the first one, takes to stop and to serve again, which is when
// /readyz says so.
type Restart struct {
	StopS        float64 `json:"stop_s"`
	StartS       float64 `json:"start_s"`
	RSS          int64   `json:"rss_bytes"`        // a minute after
	PeakPerS     int64   `json:"peak_polls_per_s"` // in a second of that minute, at the origins
	KilledStartS float64 `json:"killed_start_s"`   // to serve again after SIGKILL
}

// Backup is a backup of all nodes, and what fresh nodes have after a restore of it.
type Backup struct {
	Seconds  float64 `json:"s"`
	Bytes    int64   `json:"bytes"`
	RestoreS float64 `json:"restore_s"`
	Lost     *int64  `json:"lost,omitempty"`  // subscriptions that fresh nodes lack; absent where one of them could not be asked
	Extra    *int64  `json:"extra,omitempty"` // that fresh nodes have, and the generator did not ask for
}

// Lists is how long lists and single requests take at the first node.
type Lists struct {
	Channels      List           `json:"channels"`
	Subscriptions List           `json:"subscriptions"`
	Requests      map[string]One `json:"requests"` // by path
}

// List is a walk through a list, page by page. Pages cost the same wherever they are if the
// last tenth's is the first tenth's.
type List struct {
	Items      int     `json:"items"`
	Wrong      int     `json:"wrong"` // items that came twice, or not at all
	Seconds    float64 `json:"s"`
	PerS       float64 `json:"items_per_s"`
	CPUUs      float64 `json:"cpu_us_per_item"` // of the node
	FirstTenth float64 `json:"first_tenth_page_ms"`
	LastTenth  float64 `json:"last_tenth_page_ms"`
	HeapGrown  int64   `json:"heap_grown_bytes"` // heap in use over the beginning, at most
	PageBytes  float64 `json:"page_bytes"`       // mean
}

// One is a request that was made many times.
type One struct {
	P50   float64 `json:"p50_ms"`
	Max   float64 `json:"max_ms"`
	Bytes int     `json:"bytes"` // of the answer
}

// Audit is what a publisher would hold against the nodes: rules of internal/originaudit that
// requests broke, from the run's beginning to its end.
type Audit struct {
	Requests   int            `json:"requests"`
	Violations int            `json:"violations"`
	Kinds      map[string]int `json:"by_kind"`
	First      []string       `json:"first,omitempty"` // a line each
}

// Rates is the node's word on its rates beside the origins' requests and the generator's plan.
// Crowds and leaves divide the window into parts, each of which begins an interval after the
// event; a figure is that of the worst part or event.
type Rates struct {
	Parts         int     `json:"parts"`           // in which there was enough to compare
	Channels      int     `json:"channels"`        // that are looked at one by one
	PlannedOff    float64 `json:"planned_off"`     // share by which the node's load is off that of the generator's plan, at a part's end
	OverBudget    float64 `json:"over_budget"`     // share by which it is over the node's budget then
	PollsOff      float64 `json:"polls_off"`       // share by which the polls that the node counts are off those that it plans
	CountOff      float64 `json:"count_off"`       // share by which the origins' requests are off the polls that the node counts
	ChannelsOff   float64 `json:"channels_off"`    // share of channels that are not polled as the node explains
	RiseS         float64 `json:"rise_s"`          // from a crowd's first subscription until the rate of its channel rises
	SettleS       float64 `json:"settle_s"`        // from an event's end until the planned load comes to stay within 1 % of its last value
	CrowdOverPlan float64 `json:"crowd_over_plan"` // share by which polls are over the plan from a crowd's beginning to an interval after its end
	CrowdOff      float64 `json:"crowd_off"`       // share by which a crowd's channel is not polled as the node explains, in the interval after it
}

// Entries is what became of the entries of recorded documents.
type Entries struct {
	Documents int     `json:"documents"`
	Fresh     int     `json:"fresh"`       // entries that came to stand in the window
	Missing   int     `json:"missing"`     // of these, at single subscriptions
	Twice     int     `json:"twice"`       // entries that single subscriptions got again in another update
	Silent    int     `json:"silent"`      // updates that say nothing
	WaitMax   float64 `json:"wait_max_ms"` // from a capture's beginning until an entry of it arrived
}

// Event is something that happened in the window.
type Event struct {
	AtS   float64 `json:"at_s"` // when it was meant to
	TookS float64 `json:"took_s"`
	What  string  `json:"what"`
	Err   string  `json:"error,omitempty"`
}

// OK reports whether no threshold is broken, all was measured, and the generator was not the limit.
func (r *Result) OK() bool {
	for _, v := range r.Thresholds {
		if !v.OK {
			return false
		}
	}
	return !r.Generator.Limited && !r.Interrupted && len(r.Failed) == 0
}
