package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// DeploymentOptions are those of the paper's deployment (section 5.2).
func DeploymentOptions() Options {
	o := PaperOptions()
	o.Channels, o.Nodes, o.Subscriptions = 7500, 60, 150_000
	o.Maintenance = 30 * time.Minute
	return o
}

// Arriving is how long it took to issue all subscriptions, at a uniform rate.
const Arriving = 90 * time.Minute

// Deployment is the paper's deployment on 60 nodes, Figures 9 and 10.
type Deployment struct {
	Command string             `json:"command"` // that makes it again
	Schemes []DeploymentScheme `json:"schemes"`
	options Options
}

// A DeploymentScheme is one curve of both figures.
type DeploymentScheme struct {
	Scheme string `json:"scheme"`
	Ladder string `json:"ladder"`
	// From the time on at which all have subscribed and two more maintenance
	// intervals have passed:
	Detection      float64           `json:"detection_s"`
	DetectionModel float64           `json:"detection_model_s"`
	PollsPerMinute float64           `json:"polls_per_minute"`
	PaperDetection float64           `json:"paper_detection_s"`
	PaperPolls     float64           `json:"paper_polls_per_minute"`
	Points         []DeploymentPoint `json:"points"`
}

// A DeploymentPoint is a quarter of an hour.
type DeploymentPoint struct {
	Hours          float64 `json:"hours"`
	Detection      float64 `json:"detection_s"`
	PollsPerMinute float64 `json:"polls_per_minute"`
}

// RunDeployment simulates legacy, the paper's lite and ours, unless the context
// ends before.
func RunDeployment(ctx context.Context, o Options) (*Deployment, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if from := Arriving + 2*o.Maintenance; o.horizon() < from+o.Interval {
		return nil, fmt.Errorf("%w: %v hours, want an interval more than the %v until it has settled", ErrOptions, o.Hours, from)
	}
	w := newWorkload(o)
	q := w.ramp(Arriving)
	schemes := []scheme{{name: "legacy", kind: alone}, {name: "lite", policy: honeycomb.Lite, kind: levels}, {name: "lite", policy: honeycomb.Lite, kind: widths}}
	d := &Deployment{o.command("deployment"), make([]DeploymentScheme, len(schemes)), o}
	j := newJob(ctx, o, len(schemes)*(o.rounds()+1))
	err := j.inParallel(len(schemes), func(i int) {
		if row := runScheme(j, o, w, q, schemes[i]); j.wanted() {
			d.Schemes[i] = d.scheme(row)
		}
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// paperDeployment is what the paper tells of its curves: detection time, polls a
// minute.
var paperDeployment = map[string][2]float64{"legacy": {900, 5000}, "lite": {45, 4500}}

func (d *Deployment) scheme(row Row) DeploymentScheme {
	paper := paperDeployment[row.Scheme]
	s := DeploymentScheme{Scheme: row.Scheme, Ladder: row.Ladder, DetectionModel: row.DetectionModel,
		PaperDetection: paper[0], PaperPolls: paper[1]}
	perMinute := float64(d.options.Channels) / d.options.Interval.Minutes()
	from := Arriving + 2*d.options.Maintenance
	var points float64
	for _, p := range row.Measured.Series {
		point := DeploymentPoint{p.Hours, p.Detection, p.Load * perMinute}
		s.Points = append(s.Points, point)
		if p.Hours > from.Hours() {
			s.Detection += point.Detection
			s.PollsPerMinute += point.PollsPerMinute
			points++
		}
	}
	s.Detection /= max(points, 1)
	s.PollsPerMinute /= max(points, 1)
	return s
}

// Report shows the deployment for people.
func (d *Deployment) Report() report.Report {
	wait := report.Plot{Title: "Figure 9: update detection time", X: "hours", Y: "seconds", LogY: true}
	load := report.Plot{Title: "Figure 10: polls of content servers", X: "hours", Y: "polls per minute"}
	table := report.Table{Header: []string{"scheme", "ladder", "measured s", "model s", "paper s", "polls per minute", "paper's polls"}}
	for _, s := range d.Schemes {
		detection, polls := s.series()
		wait.Series = append(wait.Series, detection)
		load.Series = append(load.Series, polls)
		table.Rows = append(table.Rows, []string{s.Scheme, s.Ladder, decimal(s.Detection), decimal(s.DetectionModel),
			paperCell(s.PaperDetection, 0), fmt.Sprintf("%.0f", s.PollsPerMinute), paperCell(s.PaperPolls, 0)})
	}
	wait.Series = append(wait.Series, reported("lite", paperDeployment["lite"][0], d.options))
	load.Series = append(load.Series, reported("lite", paperDeployment["lite"][1], d.options))
	return report.Report{Title: "Deployment: Figures 9 and 10", Command: d.Command, Sections: []report.Section{
		{Heading: "Settled", Paragraphs: d.words(), Table: table},
		{Heading: "Over time", Plots: []report.Plot{wait, load}},
	}}
}

func (s DeploymentScheme) series() (detection, polls report.Series) {
	name := (&Row{Scheme: s.Scheme, Ladder: s.Ladder}).label()
	detection = report.Series{Name: name, Dashed: s.Ladder == ownLadder}
	polls = detection
	for _, p := range s.Points {
		detection.X, detection.Y = append(detection.X, p.Hours), append(detection.Y, p.Detection)
		polls.X, polls.Y = append(polls.X, p.Hours), append(polls.Y, p.PollsPerMinute)
	}
	return detection, polls
}

func (d *Deployment) words() []string {
	return []string{
		fmt.Sprintf("%d nodes, %d channels; %d subscriptions arrive at a uniform rate over %s; maintenance and polling interval %s; seed %d. The table's figures are of the time from %s on, when all have arrived and two maintenance intervals have passed.",
			d.options.Nodes, d.options.Channels, d.options.Subscriptions, span(Arriving), span(d.options.Interval), d.options.Seed, span(Arriving+2*d.options.Maintenance)),
		"The paper: detection falls to about 45 seconds, while the load rises to about 4,500 polls a minute and stays under legacy's, which averages to just above 5,000.",
		"Not in the simulation: the network, PlanetLab's nodes that come and go, and the paper's 7,500 real feeds with the update times that they had; updates follow the survey.",
	}
}
