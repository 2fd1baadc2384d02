package main

// result is what the scenario found.
type result struct {
	Channels  int     `json:"channels"`
	Hosts     int     `json:"hosts"`
	IntervalS float64 `json:"interval_s"`
	FloorS    float64 `json:"floor_s"` // 0: the node's default
	Speedup   float64 `json:"speedup"`

	ImportS        float64 `json:"import_s"`
	FirstPollsS    float64 `json:"first_polls_s"`         // from the end of the import until every channel has been polled
	FirstPollCPUUs float64 `json:"first_poll_cpu_us"`     // processor of the node for each channel, from before the import until then
	FirstPollRSS   int64   `json:"first_polls_rss_bytes"` // the most that was seen until then

	Window  window   `json:"window"`
	Memory  memory   `json:"memory"` // at the end of the window
	Disk    disk     `json:"disk"`   // likewise
	Restart *restart `json:"restart,omitempty"`
}

// window is what was measured while nothing but polling went on. Lateness is from
// a poll's due time to the start of its request, as the node's histogram has it:
// the upper bound of the bucket that holds the percentile.
type window struct {
	Seconds        float64 `json:"s"`
	Polls          float64 `json:"polls"`
	PollsPerS      float64 `json:"polls_per_s"`
	PlannedPerS    float64 `json:"planned_polls_per_s"`
	NotModified    float64 `json:"not_modified_ratio"`
	Changed        float64 `json:"changed_ratio"`
	LatenessP50Ms  float64 `json:"lateness_p50_ms"`
	LatenessP99Ms  float64 `json:"lateness_p99_ms"`
	LatenessP999Ms float64 `json:"lateness_p999_ms"`
	CPUCores       float64 `json:"cpu_cores"`
	CPUPerPollUs   float64 `json:"cpu_per_poll_us"`
	OriginCPUCores float64 `json:"origin_cpu_cores"`

	Minutes []minute `json:"minutes"` // in their order; the last may be shorter

	WrittenBytes    int64   `json:"written_bytes"`   // handed to the disk by the node
	LogEntryBytes   float64 `json:"log_entry_bytes"` // what the node had its ranges remember: the least that could be written
	WrittenByLog    float64 `json:"written_by_log"`  // the one by the other: write amplification
	WrittenPerPoll  float64 `json:"written_bytes_per_poll"`
	WrittenByChange float64 `json:"written_bytes_per_change"`
}

// minute is a part of the window.
type minute struct {
	RSSBytes      int64   `json:"rss_bytes"` // at its end
	LatenessP99Ms float64 `json:"lateness_p99_ms"`
	PollsPerS     float64 `json:"polls_per_s"`
}

// memory is where the node's resident memory is.
type memory struct {
	RSSBytes        int64            `json:"rss_bytes"`
	BytesPerChannel float64          `json:"bytes_per_channel"` // resident
	HeapLive        int64            `json:"heap_live_bytes"`   // after a collection
	HeapByPackage   map[string]int64 `json:"heap_by_package"`   // what they hold in the live heap, sampled
	GoStacks        float64          `json:"go_stack_bytes"`
	GoOther         float64          `json:"go_other_bytes"`   // of the runtime: spans, collector, profiles
	GoFree          float64          `json:"go_free_bytes"`    // garbage, and heap kept for what comes
	Outside         float64          `json:"outside_go_bytes"` // block caches and memtables, the program itself
}

// disk is what lies in the data directory.
type disk struct {
	Bytes           int64            `json:"bytes"`
	BytesPerChannel float64          `json:"bytes_per_channel"`
	ByFolder        map[string]int64 `json:"by_folder"` // two levels deep
}

// restart is how long it takes to stop, and to serve again: until /readyz says
// so, by when every channel has its order.
type restart struct {
	StopS         float64 `json:"stop_s"`
	StartS        float64 `json:"start_s"`
	StartRSS      int64   `json:"start_rss_bytes"`  // a minute after
	PeakPollsPerS float64 `json:"peak_polls_per_s"` // of the seconds of that minute
	KilledStartS  float64 `json:"killed_start_s"`   // after SIGKILL
}
