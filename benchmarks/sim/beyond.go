package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// BeyondOptions are a tenth of the paper's channels: enough for figures of three
// digits.
func BeyondOptions() Options {
	o := PaperOptions()
	o.Channels, o.Subscriptions = 10_000, 500_000
	return o
}

// Beyond is what the paper does not try: nodes that die and join, a flash crowd,
// update intervals that must be learned, clocks that are off; and what a node holds and
// sends in clusters past the machines that there are. Beyond [mostChannels] there is only
// the last.
type Beyond struct {
	Command   string     `json:"command"` // that makes it again
	Churn     []Course   `json:"churn,omitempty"`
	Flash     []Course   `json:"flash_crowd,omitempty"`
	Estimates []Estimate `json:"estimates,omitempty"`
	Skew      []Skew     `json:"clock_skew,omitempty"`
	Scale     *Scale     `json:"scale"`
	options   Options
}

// A Course is a scheme through an event: means of the hour before it, of the
// worst stratum after it, and of the last hour.
type Course struct {
	Scheme string  `json:"scheme"`
	Ladder string  `json:"ladder"`
	Floor  float64 `json:"floor_s,omitempty"` // 0: the interval
	Before Point   `json:"before"`
	Worst  Point   `json:"worst"` // detection of one stratum, load of one, each the most
	After  Point   `json:"after"`
	Hit    *Hit    `json:"hit,omitempty"`
	Points []Point `json:"points"`
}

// Hit is the detection of the channels that a flash crowd comes to, in seconds,
// before it and in the last hour.
type Hit struct {
	Before float64 `json:"before_s"`
	After  float64 `json:"after_s"`
}

// When things happen, and for how many.
const (
	eventAt   = 3 * time.Hour
	rejoinAt  = eventAt + 90*time.Minute
	deadShare = 0.1
	hitShare  = 0.01
	hitTimes  = 100
)

// RunBeyond runs all five, unless the context ends before. Of a cluster of more than
// [mostChannels] channels it reckons what a node holds and sends, by costs measured live.
func RunBeyond(ctx context.Context, o Options) (*Beyond, error) {
	events := o.Channels <= mostChannels
	if err := o.validateBeyond(events); err != nil {
		return nil, err
	}
	b := &Beyond{Command: o.command("beyond"), options: o}
	j := newJob(ctx, o, scaleSteps(o))
	if events {
		j.steps += b.eventSteps()
		if err := b.runEvents(j); err != nil {
			return nil, err
		}
	}
	var err error
	if b.Scale, err = runScale(j, o); err != nil {
		return nil, err
	}
	return b, nil
}

func (o Options) validateBeyond(events bool) error {
	if !events {
		return o.validateScale()
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if o.horizon() < rejoinAt+time.Hour {
		return fmt.Errorf("%w: %v hours, want an hour after nodes have joined again, which is at %v", ErrOptions, o.Hours, rejoinAt)
	}
	return o.validateScale()
}

func (b *Beyond) eventSteps() int {
	return (len(churnSchemes())+len(flashSchemes())+len(knowledges))*b.options.rounds() + 1
}

// runEvents runs what is simulated poll by poll.
func (b *Beyond) runEvents(j *job) error {
	o, churn, flash := b.options, churnSchemes(), flashSchemes()
	b.Churn, b.Flash = make([]Course, len(churn)), make([]Course, len(flash))
	b.Estimates = make([]Estimate, len(knowledges))
	w := newWorkload(o)
	runs := len(churn) + len(flash) + len(knowledges)
	return j.inParallel(runs+1, func(i int) {
		switch flashAt, estimatesAt := len(churn), len(churn)+len(flash); {
		case i < flashAt:
			b.Churn[i] = runChurn(j, o, w, churn[i])
		case i < estimatesAt:
			b.Flash[i-flashAt] = runFlash(j, o, w, flash[i-flashAt])
		case i < runs:
			b.Estimates[i-estimatesAt] = runEstimate(j, o, w, knowledges[i-estimatesAt])
		default:
			b.Skew = runSkew(o, w)
			j.step()
		}
	})
}

func churnSchemes() []scheme {
	return []scheme{{name: "lite", policy: honeycomb.Lite, kind: levels}, {name: "lite", policy: honeycomb.Lite, kind: widths}, shortFloor}
}

func flashSchemes() []scheme {
	schemes := []scheme{{name: "legacy", kind: alone}}
	for _, kind := range []kind{levels, widths} {
		for _, p := range []honeycomb.Policy{honeycomb.Lite, honeycomb.Fast} {
			schemes = append(schemes, scheme{name: p.String(), policy: p, kind: kind})
		}
	}
	return append(schemes, shortFloor)
}

// shortFloor is lite, our way, as nodes are set up unless told otherwise: five
// minutes between two polls of a channel by one node, so that a sixth of the
// nodes make the same rate.
var shortFloor = scheme{name: "lite", policy: honeycomb.Lite, kind: widths, floor: 5 * time.Minute}

// runChurn lets a tenth of the nodes die, and as many join later.
func runChurn(j *job, o Options, w *workload, s scheme) Course {
	dead := func(node int) bool { return w.unit(forFate, uint64(node), 0) < deadShare }
	none := func(int) bool { return false }
	q := steady{w, o.Interval}
	row := Row{Scheme: s.name}
	var of func(c int) polling
	if s.kind == levels {
		row.Ladder = paperLadder
		h := newHierarchy(o, w, q, s.policy)
		h.events = []event{
			{eventAt, func(at time.Duration) { h.setAlive(at, dead) }},
			{rejoinAt, func(at time.Duration) { h.setAlive(at, none) }},
		}
		h.run(j.step)
		of = h.polling
	} else {
		row.Ladder = ownLadder
		r := newRanges(o, w, q, s.config(o))
		r.events = []event{{eventAt, func(at time.Duration) { r.die(at, dead) }}, {rejoinAt, r.join}}
		r.run(j.step)
		of = r.polling
	}
	return course(s, row, measure(o, w, q, of).Series)
}

// runFlash brings a hundred times as many subscribers to a hundredth of the
// channels.
func runFlash(j *job, o Options, w *workload, s scheme) Course {
	q := crowd{steady: steady{w, o.Interval}, from: eventAt, times: hitTimes, hit: make([]bool, o.Channels)}
	for c := range q.hit {
		q.hit[c] = w.unit(forFate, uint64(c), 1) < hitShare
	}
	row, of := runSystem(j, o, w, q, s)
	flash := course(s, row, measure(o, w, q, of).Series)
	flash.Hit = &Hit{
		Before: meanWait(o, w, of, q.hit, o.settled(), eventAt),
		After:  meanWait(o, w, of, q.hit, o.horizon()-time.Hour, o.horizon()),
	}
	return flash
}

func course(s scheme, r Row, points []Point) Course {
	c := Course{Floor: s.floor.Seconds(), Scheme: r.Scheme, Ladder: r.Ladder, Points: points}
	last := points[len(points)-1].Hours
	c.Before = meanPoint(points, eventAt.Hours()-1, eventAt.Hours())
	c.After = meanPoint(points, last-1, last)
	for _, p := range points {
		if p.Hours > eventAt.Hours() {
			c.Worst.Detection = max(c.Worst.Detection, p.Detection)
			c.Worst.Load = max(c.Worst.Load, p.Load)
		}
	}
	return c
}

// meanPoint is the mean of the points that end within (from, to].
func meanPoint(points []Point, from, to float64) Point {
	m := Point{Hours: to}
	var n float64
	for _, p := range points {
		if p.Hours > from && p.Hours <= to {
			m.Detection += p.Detection
			m.Load += p.Load
			n++
		}
	}
	m.Detection /= max(n, 1)
	m.Load /= max(n, 1)
	return m
}

// Report shows all of it for people.
func (b *Beyond) Report() report.Report {
	page := report.Report{Title: "Beyond the paper", Command: b.Command}
	if b.Churn != nil {
		page.Sections = slices.Concat(b.churnReport(), b.flashReport(), b.estimateReport(), b.skewReport())
	}
	page.Sections = append(page.Sections, b.scaleReport()...)
	return page
}
