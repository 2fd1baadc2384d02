package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// chart is a drawing of lines.
type chart struct {
	Title, Unit string
	Series      []line
	window      [2]float64 // shaded; none where both are equal
	events      []float64
	ticks       func(x float64) string // of the x axis; nil: numbers
}

// line is one of them.
type line struct {
	Name   string
	points []point
}

type point struct{ x, y float64 }

// The drawing's size, and the room around it for text.
const (
	width, height            = 420.0, 190.0
	left, right, top, bottom = 48.0, 8.0, 8.0, 20.0
)

// frame maps values to the drawing.
type frame struct{ minX, maxX, maxY float64 }

func (f frame) x(v float64) float64 {
	return left + (v-f.minX)/(f.maxX-f.minX)*(width-left-right)
}

func (f frame) y(v float64) float64 {
	return height - bottom - min(max(v/f.maxY, 0), 1)*(height-top-bottom)
}

func (c *chart) frame() frame {
	f := frame{minX: math.Inf(1), maxX: math.Inf(-1)}
	for _, l := range c.Series {
		for _, p := range l.points {
			f.minX, f.maxX, f.maxY = min(f.minX, p.x), max(f.maxX, p.x), max(f.maxY, p.y)
		}
	}
	if math.IsInf(f.minX, 1) || f.maxX <= f.minX {
		f.minX, f.maxX = 0, 1
	}
	f.maxY = ceiling(f.maxY)
	return f
}

// ceiling returns a round number at or above a value.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 2.5, 5, 10} {
		if step*unit >= v*(1-1e-9) {
			return step * unit
		}
	}
	return 10 * unit
}

// SVG returns the drawing. All text in it is of numbers.
func (c chart) SVG() template.HTML {
	f, b := c.frame(), new(strings.Builder)
	fmt.Fprintf(b, `<svg viewBox="0 0 %g %g" role="img" aria-label=%q>`, width, height, template.HTMLEscapeString(c.Title))
	if c.window[1] > c.window[0] {
		from, to := max(c.window[0], f.minX), min(c.window[1], f.maxX)
		fmt.Fprintf(b, `<rect class="window" x="%.1f" y="%g" width="%.1f" height="%g"/>`, f.x(from), top, max(f.x(to)-f.x(from), 0), height-top-bottom)
	}
	c.axes(b, f)
	for _, at := range c.events {
		fmt.Fprintf(b, `<line class="event" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/>`, f.x(at), f.x(at), top, height-bottom)
	}
	for i, l := range c.Series {
		fmt.Fprintf(b, `<polyline class="s s%d" points="`, i)
		for _, p := range l.points {
			fmt.Fprintf(b, "%.1f,%.1f ", f.x(p.x), f.y(p.y))
		}
		b.WriteString(`"/>`)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (c *chart) axes(b *strings.Builder, f frame) {
	for i := range 5 {
		v := f.maxY * float64(i) / 4
		fmt.Fprintf(b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, f.y(v), f.y(v), left-4, f.y(v)+4, number(v))
	}
	const most = 5
	step := ceiling((f.maxX - f.minX) / most)
	for v := math.Ceil(f.minX/step) * step; v <= f.maxX*(1+1e-9); v += step {
		text := number(v)
		if c.ticks != nil {
			text = c.ticks(v)
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, min(max(f.x(v), left+10), width-right-16), height-6, text)
	}
}
