package result

import "strings"

// Limit is a threshold on a figure.
type Limit struct {
	Metric   string
	Max, Min *Bound
}

// Bound is a number, or a factor on what was planned.
type Bound struct {
	Value   float64
	Planned bool
}

// Verdict is what became of a threshold.
type Verdict struct {
	Name  string  `json:"name"` // the figure's, with <= or >=
	Limit float64 `json:"limit"`
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// PlannedName returns the name of the figure that is planned for a figure: of
// detection_ms.p99 detection_ms.planned.p99, of polls_per_s planned_polls_per_s.
func PlannedName(metric string) string {
	if object, inside, found := strings.Cut(metric, "."); found {
		return object + ".planned." + inside
	}
	return "planned_" + metric
}

// Known reports whether a figure exists, and whether it has a planned one.
func Known(metric string) (known, planned bool) {
	empty := &Result{Memory: new(Memory), Restart: new(Restart), Lists: new(Lists), Backup: &Backup{Lost: new(int64), Extra: new(int64)}, Singles: new(Singles), Audit: new(Audit), Rates: new(Rates), Entries: new(Entries)}
	_, known = empty.Figure(metric)
	_, planned = empty.Figure(PlannedName(metric))
	return known, planned
}

// Judge returns what becomes of limits on the result. A figure that it has not is none that holds.
func (r *Result) Judge(limits []Limit) []Verdict {
	verdicts := make([]Verdict, 0, 2*len(limits))
	for _, l := range limits {
		if l.Max != nil {
			limit, value, known := r.limit(l.Metric, *l.Max)
			verdicts = append(verdicts, Verdict{l.Metric + " <=", limit, value, known && value <= limit})
		}
		if l.Min != nil {
			limit, value, known := r.limit(l.Metric, *l.Min)
			verdicts = append(verdicts, Verdict{l.Metric + " >=", limit, value, known && value >= limit})
		}
	}
	return verdicts
}

func (r *Result) limit(metric string, b Bound) (limit, value float64, known bool) {
	value, known = r.Figure(metric)
	limit = b.Value
	if b.Planned {
		planned, _ := r.Figure(PlannedName(metric))
		limit *= planned
	}
	return limit, value, known
}
