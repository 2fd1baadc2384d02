package api

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Explanation says why a channel is polled as often as it is: the answer of
// GET /v1/channels/{id}/explain. Rates are polls per interval by the whole system.
type Explanation struct {
	Channel channel.ID `json:"channel"`
	URL     string     `json:"url"`

	Policy    string  `json:"policy"`
	Ladder    string  `json:"ladder"`
	Cost      string  `json:"cost"`
	IntervalS float64 `json:"interval_s"`
	FloorS    float64 `json:"floor_s"`

	Rate          float64 `json:"rate"`
	PollIntervalS float64 `json:"poll_interval_s"` // between two polls; 0: it is not polled
	Width         int     `json:"width"`
	DecidedBy     string  `json:"decided_by"`

	Factors    Factors      `json:"factors"`
	Least      RateBound    `json:"least"`
	Most       RateBound    `json:"most"`
	Worth      Worth        `json:"worth"`
	Neighbours Neighbours   `json:"neighbours"`
	Host       *PlannedHost `json:"host"` // nil: none is known

	Noise []Noise `json:"noise"` // what changes without meaning, as was learned; empty, not nil
	Held  *Held   `json:"held"`  // as a [Channel]'s

	NextPoll *time.Time `json:"next_poll"`
	Waiting  *Waiting   `json:"waiting"` // as a [Channel]'s
	Solved   *time.Time `json:"solved"`  // nil: not yet
}

// What decided about a rate: the bounds of [RateBound], or one of these.
const (
	DecidedByWorth  = "worth"  // the next step is worth less than it must be
	DecidedByNobody = "nobody" // without subscribers, or gone: not polled
	DecidedByStart  = "start"  // new: its rate is about to be solved for
)

// What bounds a rate.
const (
	RateByOnce     = "once"     // least: a poll an interval, as each subscriber would make alone
	RateByOverflow = "overflow" // least: entries would come and go between two polls
	RateByBudget   = "budget"   // least: too small for a poll an interval of each channel
	RateByFloor    = "floor"    // most
	RateByOrigin   = "origin"   // most: its words
	RateByHost     = "host"     // most: what all channels of the host may have together
)

// RateBound is the least or the most that a rate may be.
type RateBound struct {
	Rate float64 `json:"rate"`
	By   string  `json:"by"`
}

// Factors are what a channel's rate is solved from.
type Factors struct {
	Subscribers     uint64  `json:"subscribers"`
	SizeBytes       float64 `json:"size_bytes"` // expected of a poll; 0: not known
	UpdateIntervalS float64 `json:"update_interval_s"`
	Weight          float64 `json:"weight"` // of a second of waiting: subscribers, times the policy's factor
	Cost            float64 `json:"cost"`   // of a poll, in the optimiser's unit
}

// Worth is what steps of a rate are worth: seconds of waiting, weighted and added
// up over subscribers, that a step takes off for each unit of what it costs.
type Worth struct {
	LastS   *float64 `json:"last_s"`   // of the step that led to the rate; nil: it is the least
	NextS   *float64 `json:"next_s"`   // of the step to the next rate; nil: it is the most
	NeededS float64  `json:"needed_s"` // what a step must be worth here: λ, and for the channels of a bound host more
	LambdaS float64  `json:"lambda_s"` // what it must be worth elsewhere; 0: no limit binds
}

// Neighbours are the channels that decide with this one who gets the next poll.
type Neighbours struct {
	LastIn   *Neighbour `json:"last_in"`   // gives up its last step first when there is less
	FirstOut *Neighbour `json:"first_out"` // takes its next step first when there is more
}

// Neighbour is a channel at the boundary of the plan.
type Neighbour struct {
	Channel channel.ID `json:"channel"`
	URL     string     `json:"url"`
	Rate    float64    `json:"rate"`
	WorthS  float64    `json:"worth_s"` // of the step in question
}

// PlannedHost is the host of a channel in the plan, in polls per interval of all its
// channels.
type PlannedHost struct {
	Name    string   `json:"name"` // with port
	Planned float64  `json:"planned"`
	Cap     *float64 `json:"cap"`  // nil: none
	MuS     float64  `json:"mu_s"` // what its cap adds to a poll's needed worth; 0: it does not bind
}

// Noise is something in a channel's content whose changes are no updates.
type Noise struct {
	What  string  `json:"what"`   // "number", "region", "control" or "window"
	Text  string  `json:"text"`   // what stands there, … in the place of what is hidden; empty: the content has it not now, or this node has no content
	Lines int     `json:"lines"`  // of the content that it hides something of
	Why   string  `json:"why"`    // for people
	CalmS float64 `json:"calm_s"` // without a change, after which it counts again; 0: no time makes it count
}
