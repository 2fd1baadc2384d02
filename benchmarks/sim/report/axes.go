package report

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// grid is lines that stay behind the data.
func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{0xd0}, color.Gray{0xd0}
	return g
}

// scale sets axes up once the data are known.
func (p Plot) scale(figure *plot.Plot) {
	scaleAxis(&figure.X, p.LogX)
	scaleAxis(&figure.Y, p.LogY)
	if !p.LogY {
		figure.Y.Max *= 1.05 // curves do not run along the edge
	}
	if len(p.Names) == 0 {
		return
	}
	var ticks plot.ConstantTicks
	for x, name := range p.Names {
		ticks = append(ticks, plot.Tick{Value: float64(x), Label: name})
	}
	figure.X.Min, figure.X.Max = -0.5, float64(len(p.Names))-0.5
	figure.X.Tick.Marker = ticks
}

// scaleAxis begins a linear axis at 0; a logarithmic one has the data between two
// numbers of 1, 2, 5, 10, ….
func scaleAxis(axis *plot.Axis, logarithmic bool) {
	switch {
	case math.IsInf(axis.Min, 0) || math.IsInf(axis.Max, 0): // no data
	case logarithmic:
		axis.Min, axis.Max = roundDown(axis.Min), roundUp(axis.Max)
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	default:
		axis.Min = min(axis.Min, 0)
		axis.Tick.Marker = plot.TickerFunc(linearTicks)
	}
}

// decade returns the largest power of ten that is not above v. The nudge is for
// logarithms such as 1000's, which come out as 2.9999999999999996.
func decade(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v)+1e-9)) }

// roundDown returns the largest of 1, 2, 5, 10, … and their tenths that is not
// above v.
func roundDown(v float64) float64 {
	for _, digit := range []float64{5, 2} {
		if round := digit * decade(v); round <= v {
			return round
		}
	}
	return decade(v)
}

// roundUp returns the smallest of these that is not under v.
func roundUp(v float64) float64 {
	down := roundDown(v)
	if down >= v {
		return down
	}
	return roundDown(2.6 * down)
}

// linearTicks are four to ten numbers that are easy to read.
func linearTicks(least, most float64) []plot.Tick {
	step := roundDown((most - least) / 4)
	var ticks []plot.Tick
	for i := math.Ceil(least / step); i*step <= most*(1+1e-9); i++ {
		ticks = append(ticks, tick(i*step))
	}
	return ticks
}

// logTicks name each 1, 2, 5 where there is room, else each power of ten. None is
// outside, where a plot would make room for its name.
func logTicks(least, most float64) []plot.Tick {
	var ticks []plot.Tick
	for power := decade(least); power <= most*1.001; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			t := tick(digit * power)
			if t.Value < least*0.999 || t.Value > most*1.001 {
				continue
			}
			if named := digit == 1 || (digit == 2 || digit == 5) && most <= 1000*least; !named {
				t.Label = ""
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func tick(v float64) plot.Tick {
	return plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)}
}
