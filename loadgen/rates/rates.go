// Package rates compares what a node says of its rates, all through a window, with what the
// origins were asked and with the load that the generator's own plan allows. Everything in it
// is a pure function of what was recorded.
package rates

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Record is what node and origins told in a window.
type Record struct {
	Interval time.Duration // the node's
	From, To time.Time     // the window

	// Load is what the generator's plan for an instant takes per interval, in the unit of the
	// budget.
	Load func(at time.Time) float64

	Points []Point
	Looks  []Look
	Events []Event
}

// Point is the load at an instant.
type Point struct {
	At           time.Time
	Polls        float64 // so far, as the node counts them
	Requests     float64 // so far, as the origins count them
	Planned      float64 // polls per interval, by the node's word
	Load, Budget float64 // what the node plans and may take per interval, in the unit of the budget
}

// Look is what single channels are polled at an instant.
type Look struct {
	At    time.Time
	Rates []float64 // polls per interval, as the node explains them, by channel
	Polls []float64 // so far, as the origins count them, by channel
}

// Event is a crowd, or a leave.
type Event struct {
	Begin, End time.Time // of the calls that it is made of
	Crowd      []Look    // of the crowd's channel alone; nil: a leave
}

// Judge compares. What several parts or events have a figure of is the worst of them; what never
// came to pass took until the window's end.
func (r *Record) Judge() *result.Rates {
	out := new(result.Rates)
	begin := r.From
	for i := range len(r.Events) + 1 {
		end := r.To
		if i < len(r.Events) {
			end = r.Events[i].Begin
		}
		r.judgePart(out, begin, end)
		if i == len(r.Events) {
			break
		}
		next := r.To
		if i+1 < len(r.Events) {
			next = r.Events[i+1].Begin
		}
		r.judgeEvent(out, &r.Events[i], next)
		begin = r.Events[i].End.Add(r.Interval)
	}
	return out
}

// judgePart judges a time in which subscriptions stand.
func (r *Record) judgePart(out *result.Rates, begin, end time.Time) {
	points, looks := within(r.Points, begin, end), within(r.Looks, begin, end)
	if len(points) < 2 || len(looks) < 2 {
		return
	}
	out.Parts++
	last := points[len(points)-1]
	worst(&out.PlannedOff, off(last.Load, r.Load(last.At)))
	worst(&out.OverBudget, last.Load/last.Budget-1)
	polls, planned := r.course(points)
	worst(&out.PollsOff, off(polls, planned))
	worst(&out.CountOff, off(last.Requests-points[0].Requests, polls))
	out.Channels = len(looks[0].Rates)
	worst(&out.ChannelsOff, float64(r.astray(looks))/float64(max(out.Channels, 1)))
}

// course returns the polls that the node counts, and those that it planned for the same time.
func (r *Record) course(points []Point) (polls, planned float64) {
	for i := 1; i < len(points); i++ {
		a, b := &points[i-1], &points[i]
		planned += (a.Planned + b.Planned) / 2 * r.intervals(a.At, b.At)
	}
	return points[len(points)-1].Polls - points[0].Polls, planned
}

func (r *Record) intervals(from, to time.Time) float64 {
	return float64(to.Sub(from)) / float64(r.Interval)
}

// Polls at a constant rate differ from rate times time by less than one. Each change of a rate
// may move that by another, and rates are looked at twice an interval.
const (
	slackPolls = 2.5
	slackShare = 0.02
	// slackCrowd is of one channel just after its rate has changed.
	slackCrowd = 8
	// slackFloor is what such a channel may lack besides: at the floor no late poll is made up
	// for. One that keeps the rate of before lacks nearly all.
	slackFloor = 4
)

// astray counts the channels that were polled at another rate than was explained.
func (r *Record) astray(looks []Look) (n int) {
	for i := range looks[0].Rates {
		have, want := r.channel(looks, i)
		if math.Abs(have-want) > slackPolls+slackShare*want {
			n++
		}
	}
	return n
}

// channel returns a channel's polls at the origins, and those that the node's word comes to.
func (r *Record) channel(looks []Look, i int) (have, want float64) {
	for k := 1; k < len(looks); k++ {
		a, b := &looks[k-1], &looks[k]
		want += (a.Rates[i] + b.Rates[i]) / 2 * r.intervals(a.At, b.At)
	}
	return looks[len(looks)-1].Polls[i] - looks[0].Polls[i], want
}

// judgeEvent judges what an event does, up to the next one.
func (r *Record) judgeEvent(out *result.Rates, e *Event, next time.Time) {
	worst(&out.SettleS, r.settled(within(r.Points, e.End, next), e.End))
	if e.Crowd == nil {
		return
	}
	worst(&out.RiseS, r.rise(e))
	after := e.End.Add(r.Interval)
	if points := within(r.Points, e.Begin, after); len(points) > 1 {
		polls, planned := r.course(points)
		worst(&out.CrowdOverPlan, polls/planned-1)
	}
	if looks := within(e.Crowd, e.End, after); len(looks) > 1 {
		have, want := r.channel(looks, 0)
		worst(&out.CrowdOff, max(have-want-slackCrowd, want-have-slackCrowd-slackFloor, 0)/want)
	}
}

// settled returns the seconds from an instant on until the planned load came to stay within a
// hundredth of its last value.
func (r *Record) settled(points []Point, from time.Time) float64 {
	if len(points) == 0 {
		return r.To.Sub(from).Seconds()
	}
	last := points[len(points)-1].Planned
	for i := len(points) - 1; i >= 0; i-- {
		if off(points[i].Planned, last) > 0.01 {
			return points[i+1].At.Sub(from).Seconds()
		}
	}
	return 0
}

// rise returns the seconds from a crowd's beginning until the rate of its channel was higher.
func (r *Record) rise(e *Event) float64 {
	before := math.Inf(1)
	for _, look := range e.Crowd {
		switch {
		case look.At.Before(e.Begin):
			before = look.Rates[0]
		case look.Rates[0] > before:
			return look.At.Sub(e.Begin).Seconds()
		}
	}
	return r.To.Sub(e.Begin).Seconds()
}

// at is what has an instant.
type at interface{ at() time.Time }

func (p Point) at() time.Time { return p.At }
func (l Look) at() time.Time  { return l.At }

// within returns what came from one instant to another; all are by time.
func within[T at](all []T, from, to time.Time) []T {
	first := 0
	for first < len(all) && all[first].at().Before(from) {
		first++
	}
	end := first
	for end < len(all) && !all[end].at().After(to) {
		end++
	}
	return all[first:end]
}

func worst(figure *float64, value float64) { *figure = max(*figure, value) }

// off returns by what part a value is off what it should be.
func off(value, want float64) float64 {
	if want == 0 {
		return math.Abs(value)
	}
	return math.Abs(value/want - 1)
}
