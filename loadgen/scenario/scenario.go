// Package scenario reads what a load test is to do: nodes, origins, subscriptions,
// events and thresholds, from YAML. Every key but name and duration has a default.
// What is wrong is refused with file, line and key before anything starts.
package scenario

import "time"

// Scenario is a load test.
type Scenario struct {
	Name     string        `yaml:"name"`
	Seed     uint64        `yaml:"seed"`     // content, update times and popularity follow from it
	Duration time.Duration `yaml:"duration"` // the measured window
	Warmup   time.Duration `yaml:"warmup"`   // after ramp and first polls; nothing in it counts

	Nodes         Nodes         `yaml:"nodes"`
	Target        []string      `yaml:"target"` // URLs of nodes that run already; none: Nodes are started
	Origins       Origins       `yaml:"origins"`
	Subscriptions Subscriptions `yaml:"subscriptions"`
	Events        []Event       `yaml:"events"`   // by time
	Profiles      []string      `yaml:"profiles"` // of each node, in the window
	Probes        []string      `yaml:"probes"`   // what is measured of nodes after the window, in this order
	Audit         bool          `yaml:"audit"`    // of all requests, by a publisher's rules: those of a node alone
	Rates         bool          `yaml:"rates"`    // the node's word on its rates is followed through the window: of a node alone
	Thresholds    []Threshold   `yaml:"thresholds"`

	Text []byte // the YAML that it was read from
}

// Nodes are child processes that the generator starts.
type Nodes struct {
	Count int      `yaml:"count"`
	Args  []string `yaml:"args"` // of corona serve, beside addresses and folders
}

// Origins are the content servers.
type Origins struct {
	Channels   int           `yaml:"channels"`
	Hosts      int           `yaml:"hosts"`   // addresses of 127.0.0.0/8
	Spread     Popularity    `yaml:"spread"`  // of channels over hosts, the first of which get the most
	Speedup    float64       `yaml:"speedup"` // of update times
	Popularity Popularity    `yaml:"popularity"`
	Changes    Changes       `yaml:"changes"`
	Traces     string        `yaml:"traces"` // recorded documents, a file or a folder: these are the channels, and no others; empty: none
	Step       time.Duration `yaml:"step"`   // how long each capture of them stands; 0: as recorded
	Latency    Latency       `yaml:"latency"`
	Errors     Share         `yaml:"errors"`    // of requests: answered 503
	Slow       ShareFor      `yaml:"slow"`      // of channels: each answer takes so long
	Dead       Share         `yaml:"dead"`      // of hosts: connections are refused
	Throttled  ShareFor      `yaml:"throttled"` // of hosts: a third of the time they answer 429, for so long
	Sick       Sick          `yaml:"sick"`
	TLS        bool          `yaml:"tls"`         // with certificates of an authority of the run
	LyingClock Share         `yaml:"lying_clock"` // of hosts: dates are off by hours

	Files []string // what Traces stands for
}

// Sick are shares of hosts that answer as no host should.
type Sick struct {
	Slow     Share `yaml:"slow"`     // at a byte a second, or after seconds
	Hanging  Share `yaml:"hanging"`  // never
	Refusing Share `yaml:"refusing"` // two times in three with 429, 503 or 403, with Retry-After in all of its forms
	Harmful  Share `yaml:"harmful"`  // with heads or bodies that end nowhere, or explode
}

// The probes.
const (
	Memory  = "memory"  // where a node's memory is
	Backup  = "backup"  // of all nodes, and its restore into fresh ones
	Lists   = "lists"   // walks through all channels and subscriptions, and single requests
	Restart = "restart" // stop, start, SIGKILL, start
)

// Latency is a log-normal distribution of how long answers take.
type Latency struct {
	P50 time.Duration `yaml:"p50"` // 0: none
	P99 time.Duration `yaml:"p99"` // 0: P50
}

// Subscriptions are made over the ramp, and read by sinks.
type Subscriptions struct {
	Count     int           `yaml:"count"`   // 0: one for each channel
	Ramp      time.Duration `yaml:"ramp"`    // 0: all at once
	Batches   int           `yaml:"batches"` // to each node at a time, without a ramp
	Keys      bool          `yaml:"keys"`    // an idempotency key for each
	Sinks     Sinks         `yaml:"sinks"`
	Endpoints int           `yaml:"endpoints"` // URLs that webhooks go to
	Streams   int           `yaml:"streams"`   // connections that read the SSE subscriptions, together; one for more than 500 of them reads all updates; 0: nothing reads them
	Hang      Share         `yaml:"hang"`      // of endpoints: never answer
	Fail      Share         `yaml:"fail"`      // of endpoints: answer 500
	Singles   int           `yaml:"singles"`   // made one by one each second of the window, and ended again
}

// Sinks are shares that come to 1.
type Sinks struct {
	Webhook Share `yaml:"webhook"`
	SSE     Share `yaml:"sse"`
}

// The events.
const (
	Kill    = "kill"    // SIGKILL to a node
	Start   = "start"   // a node that was killed or stopped
	Stop    = "stop"    // SIGTERM to a node
	Pause   = "pause"   // SIGSTOP to a node
	Resume  = "resume"  // SIGCONT
	Replace = "replace" // SIGKILL to a node, and a start with an empty directory; until all ranges have their replicas
	Split   = "split"   // ranges are split, until there are so many with their replicas
	Crowd   = "crowd"   // subscriptions to a channel
	Update  = "update"  // a channel changes, beside its schedule
	Leave   = "leave"   // a share of all subscriptions end
)

// Event is something that happens in the window.
type Event struct {
	At            time.Duration `yaml:"at"` // since the window's beginning
	Do            string        `yaml:"do"`
	Node          int           `yaml:"node"` // from 1
	Channel       int           `yaml:"channel"`
	Subscriptions int           `yaml:"subscriptions"`
	Over          time.Duration `yaml:"over"`   // how long a crowd takes to come; 0: all at once
	Share         Share         `yaml:"share"`  // of subscriptions that leave
	Ranges        int           `yaml:"ranges"` // that there are to be
}

// Threshold is a limit on a figure of the result.
type Threshold struct {
	Metric string `yaml:"metric"` // a name in result.json, with a dot into objects
	Max    *Limit `yaml:"max"`
	Min    *Limit `yaml:"min"`
}

// Default returns a scenario in which every key but name and duration has its default.
func Default() *Scenario {
	return &Scenario{
		Seed:   1,
		Warmup: 10 * time.Second,
		Nodes:  Nodes{Count: 1, Args: []string{"--interval", "30s", "--floor", "5s"}},
		Origins: Origins{
			Channels: 1000, Hosts: 10, Speedup: 60,
			Popularity: Popularity{Exponent: 0.5}, Changes: Changes{Kind: Poisson},
		},
		Subscriptions: Subscriptions{Ramp: 5 * time.Second, Sinks: Sinks{Webhook: 0.5, SSE: 0.5}, Endpoints: 100, Streams: 10, Batches: 2},
	}
}
