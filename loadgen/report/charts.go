package report

import (
	"math"
	"strconv"

	"github.com/seed-91e7e7c1/corona/loadgen/run"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// mostPoints bounds a line: longer series are shown by means of several seconds.
const mostPoints = 400

// charts are those of a run.
func charts(o *run.Outcome) []chart {
	all := []chart{
		{Title: "Polls", Unit: "a second", Series: []line{
			series("measured", o.Series, func(p track.Point) float64 { return float64(p.Polls) }),
			{Name: "planned", points: level(o, o.Result.PlannedPollsPerS)},
			series("without content", o.Series, func(p track.Point) float64 { return float64(p.Bad) }),
		}},
		{Title: "Detection of changes of each second", Unit: "ms, mean", Series: []line{
			some("measured", o.Series, func(p track.Point) (float64, int64) { return p.DetectionMs, p.Detections }),
			{Name: "planned", points: level(o, o.Result.Detection.Planned.Mean)},
		}},
		{Title: "Delivery", Unit: "ms", Series: []line{
			some("mean", o.Series, func(p track.Point) (float64, int64) { return p.DeliveryMs, p.Deliveries }),
			some("worst", o.Series, func(p track.Point) (float64, int64) { return p.WorstDeliveryMs, p.Deliveries }),
		}},
		{Title: "Not modified", Unit: "share of polls", Series: []line{series("", o.Series, func(p track.Point) float64 {
			return float64(p.NotModified) / float64(max(p.Polls, 1))
		})}},
		{Title: "Worst lateness of a poll", Unit: "ms", Series: []line{series("", o.Series, func(p track.Point) float64 { return p.WorstLateMs })}},
		{Title: "Processor", Unit: "cores", Series: nodes(o, func(p run.NodePoint) float64 { return p.CPU })},
		{Title: "Memory", Unit: "MiB", Series: nodes(o, func(p run.NodePoint) float64 { return float64(p.RSS) / (1 << 20) })},
	}
	for i := range all {
		all[i].window = o.Window
		for _, e := range o.Result.Events {
			all[i].events = append(all[i].events, o.Window[0]+e.AtS)
		}
	}
	return append(all,
		chart{Title: "Detection by percentile", Unit: "ms", ticks: nines, Series: []line{percentiles("measured", o.Plots.Detection), percentiles("planned", o.Plots.Planned)}},
		chart{Title: "Delivery by percentile", Unit: "ms", ticks: nines, Series: []line{percentiles("measured", o.Plots.Delivery)}},
		chart{Title: "Lateness of polls by percentile", Unit: "ms", ticks: nines, Series: []line{percentiles("measured", o.Plots.Lateness)}})
}

// series draws each second, or means of several.
func series(name string, from []track.Point, of func(track.Point) float64) line {
	return some(name, from, func(p track.Point) (float64, int64) { return of(p), 1 })
}

// some draws those seconds whose weight is not 0, or weighted means of several.
func some(name string, from []track.Point, of func(track.Point) (value float64, weight int64)) line {
	l, step := line{Name: name}, len(from)/mostPoints+1
	for i := 0; i < len(from); i += step {
		sum, weights := 0.0, int64(0)
		for _, p := range from[i:min(i+step, len(from))] {
			value, weight := of(p)
			sum += value * float64(weight)
			weights += weight
		}
		if weights > 0 {
			l.points = append(l.points, point{float64(from[i].S), sum / float64(weights)})
		}
	}
	return l
}

// level draws what is the same throughout the window.
func level(o *run.Outcome, value float64) []point {
	return []point{{o.Window[0], value}, {o.Window[1], value}}
}

// mostNodes bounds the lines of a chart, by the colours that there are.
const mostNodes = 3

func nodes(o *run.Outcome, of func(run.NodePoint) float64) (lines []line) {
	for i, n := range o.Result.Nodes {
		if i == mostNodes {
			break
		}
		l := line{Name: n.Name}
		for _, p := range o.Nodes {
			if p.Node == i {
				l.points = append(l.points, point{float64(p.S), of(p)})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// percentiles draws by nines: 0 is the 0th percentile, 1 the 90th, 2 the 99th.
func percentiles(name string, from []track.Percentile) line {
	const most = 4 // what is beyond 99.99 % is few
	l := line{Name: name}
	for _, p := range from {
		if x := -math.Log10(max(1-p.Percent/100, 1e-9)); x <= most {
			l.points = append(l.points, point{x, p.Ms})
		}
	}
	return l
}

// nines writes a percentile on the axis of nines.
func nines(x float64) string {
	return strconv.FormatFloat(100*(1-math.Pow(10, -x)), 'g', 5, 64) + " %"
}
