package report

import (
	"bytes"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Plot is a figure with axes.
type Plot struct {
	Title  string   `json:"title"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
	LogX   bool     `json:"log_x,omitempty"` // points at or under 0 are left out
	LogY   bool     `json:"log_y,omitempty"`
	Names  []string `json:"names,omitempty"` // at x = 0, 1, 2, …, in place of numbers
	Series []Series `json:"series"`
}

// A Series is a curve, or with Dots a cloud of points. X and Y are as long as
// each other.
type Series struct {
	Name      string    `json:"name"`
	X         []float64 `json:"x"`
	Y         []float64 `json:"y"`
	Dots      bool      `json:"-"`
	Dashed    bool      `json:"-"`
	Reference bool      `json:"-"` // what others found: grey, and dotted
}

const (
	plotWidth  = 6.4 * vg.Inch
	plotHeight = 3.8 * vg.Inch // without the legend
)

// svg draws the plot as an svg element, the legend below it.
func (p Plot) svg() ([]byte, error) {
	figure := p.frame()
	var legend legend
	for i, series := range p.Series {
		points := p.points(series)
		if len(points) == 0 {
			continue
		}
		thumbnail, err := series.draw(figure, points, colours[i%len(colours)])
		if err != nil {
			return nil, fmt.Errorf("plot %q, series %q: %w", p.Title, series.Name, err)
		}
		legend = append(legend, entry{series.Name, thumbnail})
	}
	p.scale(figure)
	canvas := vgsvg.New(plotWidth, plotHeight+legend.height())
	all := draw.New(canvas)
	all.SetColor(figure.BackgroundColor)
	all.Fill(all.Path())
	figure.Draw(draw.Crop(all, margin, -margin, legend.height(), -margin))
	legend.draw(draw.Crop(all, margin, -margin, margin, -plotHeight-2*margin))
	return element(canvas)
}

// element is what a canvas holds, without what only a file has.
func element(canvas *vgsvg.Canvas) ([]byte, error) {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	drawn := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;"))
	return drawn[max(bytes.Index(drawn, []byte("<svg")), 0):], nil
}

// frame is a plot without data.
func (p Plot) frame() *plot.Plot {
	figure := plot.New()
	for _, style := range []*text.Style{&figure.Title.TextStyle, &figure.X.Label.TextStyle, &figure.Y.Label.TextStyle,
		&figure.X.Tick.Label, &figure.Y.Tick.Label} {
		style.Font.Variant = "Sans" // the page's font is as wide
	}
	figure.Title.Text = p.Title
	figure.Title.Padding = vg.Points(8)
	figure.X.Label.Text, figure.Y.Label.Text = p.X, p.Y
	figure.Add(grid())
	return figure
}

// points are those that the axes can show.
func (p Plot) points(series Series) plotter.XYs {
	var points plotter.XYs
	for i, x := range series.X {
		y := series.Y[i]
		finite := !math.IsNaN(x+y) && !math.IsInf(x+y, 0)
		if finite && (!p.LogX || x > 0) && (!p.LogY || y > 0) {
			points = append(points, plotter.XY{X: x, Y: y})
		}
	}
	return points
}
