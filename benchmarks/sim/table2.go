package sim

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// Table2 is the paper's Table 2: its scheme measured and as its model has it,
// this project's, and what the paper reports.
type Table2 struct {
	Command string `json:"command"` // that makes it again
	Rows    []Row  `json:"rows"`
	options Options
}

// A Row is one scheme. Times are seconds, loads polls per interval and channel.
type Row struct {
	Scheme        string `json:"scheme"`
	Ladder        string `json:"ladder"`
	Phases        string `json:"phases"` // random, staggered
	Decentralised bool   `json:"decentralised"`

	Detection          float64 `json:"detection_s"`            // measured, weighted by subscribers
	DetectionModel     float64 `json:"detection_model_s"`      // Σ q·τ/2r over nominal widths
	DetectionPerUpdate float64 `json:"detection_per_update_s"` // measured, weighted by subscribers over update interval
	Load               float64 `json:"load"`                   // measured
	LoadModel          float64 `json:"load_model"`
	// ModelMean and LoadMean are the model's means over 20 draws of IDs, solved
	// for all channels at once; at the paper's levels only, since elsewhere IDs do
	// not matter.
	ModelMean float64 `json:"detection_model_20_seeds_s,omitempty"`
	LoadMean  float64 `json:"load_model_20_seeds,omitempty"`
	// Bound is what no rates of the same load detect sooner than, whatever the
	// ladder; BoundLoad the load that no rates of the same detection stay under.
	Bound          float64 `json:"bound_s"`
	BoundLoad      float64 `json:"bound_load"`
	PaperDetection float64 `json:"paper_detection_s"`
	PaperLoad      float64 `json:"paper_load"`

	Measured *Measured `json:"-"`
	Rates    []float64 `json:"-"` // nominal, by channel, polls per interval
}

// A scheme is one way to poll.
type scheme struct {
	name   string
	policy honeycomb.Policy
	kind   kind
	floor  time.Duration // 0: the interval
}

// config is the optimiser's configuration for a scheme of ours.
func (s scheme) config(o Options) honeycomb.Config {
	config := o.config(s.policy, honeycomb.Any())
	if s.floor > 0 {
		config.Floor = min(s.floor, o.Interval)
	}
	return config
}

type kind uint8

const (
	alone  kind = iota // every subscriber by itself
	levels             // the paper's
	widths             // ours
)

// paperFigures are the paper's Table 2: detection in seconds, load.
var paperFigures = map[string][2]float64{
	"legacy": {900, 50}, "lite": {53, 48.97}, "fast": {32, 58.75},
	"fair": {142, 50.14}, "fair-sqrt": {55, 49.46}, "fair-log": {53, 49.43},
}

// policies are the table's, in its order.
var policies = []honeycomb.Policy{honeycomb.Lite, honeycomb.Fast, honeycomb.Fair, honeycomb.FairSqrt, honeycomb.FairLog}

// table2Schemes are legacy, the paper's policies its way, and ours.
func table2Schemes() []scheme {
	schemes := []scheme{{name: "legacy", kind: alone}}
	for _, kind := range []kind{levels, widths} {
		for _, p := range policies {
			schemes = append(schemes, scheme{name: p.String(), policy: p, kind: kind})
		}
	}
	return schemes
}

// RunTable2 simulates the eleven rows, unless the context ends before.
func RunTable2(ctx context.Context, o Options) (*Table2, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	schemes := table2Schemes()
	j := newJob(ctx, o, len(schemes)*(o.rounds()+1)+seedsOfModel)
	rows, err := runSchemes(j, o, schemes)
	if err != nil {
		return nil, err
	}
	means, err := overSeeds(j, o, policies)
	if err != nil {
		return nil, err
	}
	for i, mean := range means {
		rows[1+i].ModelMean, rows[1+i].LoadMean = mean.detection, mean.load
	}
	return &Table2{o.command("table2"), rows, o}, nil
}

// RunOurs simulates the rows of our way alone, for a run that sets live nodes beside them, and
// returns the command of the whole table too.
func RunOurs(ctx context.Context, o Options) (rows []Row, command string, err error) {
	if err := o.Validate(); err != nil {
		return nil, "", err
	}
	schemes := table2Schemes()[1+len(policies):]
	rows, err = runSchemes(newJob(ctx, o, len(schemes)*(o.rounds()+1)), o, schemes)
	return rows, o.command("table2"), err
}

func runSchemes(j *job, o Options, schemes []scheme) ([]Row, error) {
	w, rows := newWorkload(o), make([]Row, len(schemes))
	err := j.inParallel(len(schemes), func(i int) { rows[i] = runScheme(j, o, w, steady{w, o.Interval}, schemes[i]) })
	return rows, err
}

// runScheme simulates and measures one scheme.
func runScheme(j *job, o Options, w *workload, q demand, s scheme) Row {
	row, of := runSystem(j, o, w, q, s)
	if !j.wanted() {
		return row
	}
	row.Measured = measure(o, w, q, of)
	row.Detection, row.DetectionPerUpdate, row.Load = row.Measured.Detection, row.Measured.PerUpdate, row.Measured.Load
	row.DetectionModel, _, row.LoadModel = w.planned(o.Interval, row.Rates)
	if s.kind == alone {
		row.DetectionModel = o.Interval.Seconds() / 2
	}
	row.bounds(o, w)
	j.step()
	return row
}

// runSystem simulates one scheme's decisions, and returns how channels are
// polled then.
func runSystem(j *job, o Options, w *workload, q demand, s scheme) (Row, func(c int) polling) {
	row := Row{Scheme: s.name, Ladder: "none", Phases: "random", Decentralised: true}
	if p, ok := paperFigures[s.name]; ok {
		row.PaperDetection, row.PaperLoad = p[0], p[1]
	}
	row.Rates = make([]float64, o.Channels)
	var of func(c int) polling
	switch s.kind {
	case alone:
		of = legacy(o, q)
		copy(row.Rates, w.subscribers)
	case levels:
		row.Ladder = honeycomb.Prefix(ring.Base).String()
		h := newHierarchy(o, w, q, s.policy)
		h.run(j.step)
		of = h.polling
		fill(row.Rates, h.width)
	case widths:
		row.Ladder, row.Phases = honeycomb.Any().String(), "staggered"
		r := newRanges(o, w, q, s.config(o))
		r.run(j.step)
		of = r.polling
		fill(row.Rates, r.width)
	}
	return row, of
}

func fill(rates []float64, width func(c int) float64) {
	for c := range rates {
		rates[c] = width(c)
	}
}
