package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours are those of Okabe and Ito, which colour-blind readers can tell apart.
var colours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff},
}

var grey = color.RGBA{0x66, 0x66, 0x66, 0xff}

// draw adds a series to a figure, and returns what stands for it in the legend.
func (s Series) draw(figure *plot.Plot, points plotter.XYs, colour color.RGBA) (plot.Thumbnailer, error) {
	if s.Reference {
		colour = grey
	}
	if s.Dots {
		c := cloud{points, colour, dotSize(len(points))}
		figure.Add(c)
		return c, nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(1.6)}
	switch {
	case s.Reference:
		line.Dashes = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
	case s.Dashed:
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	figure.Add(line)
	return line, nil
}

// A cloud draws its points as one path, not as an element each, which made pages
// of a megabyte.
type cloud struct {
	points plotter.XYs
	colour color.RGBA
	size   vg.Length
}

// largeDot is as large as a dot should be where there are few, and in a legend.
const largeDot vg.Length = 6

func dotSize(points int) vg.Length {
	if points > 50 {
		return vg.Points(2.2)
	}
	return largeDot
}

// Plot implements [plot.Plotter].
func (d cloud) Plot(c draw.Canvas, figure *plot.Plot) {
	x, y := figure.Transforms(&c)
	var path vg.Path
	for _, p := range d.points {
		path = dot(path, vg.Point{X: x(p.X), Y: y(p.Y)}, d.size)
	}
	d.stroke(c, path, d.size)
}

// Thumbnail implements [plot.Thumbnailer].
func (d cloud) Thumbnail(c *draw.Canvas) { d.stroke(*c, dot(nil, c.Center(), largeDot), largeDot) }

// DataRange implements [plot.DataRanger].
func (d cloud) DataRange() (xmin, xmax, ymin, ymax float64) { return plotter.XYRange(d.points) }

// dot adds to a path a line as long as it is thick: a square.
func dot(path vg.Path, at vg.Point, size vg.Length) vg.Path {
	path.Move(vg.Point{X: at.X - size/2, Y: at.Y})
	path.Line(vg.Point{X: at.X + size/2, Y: at.Y})
	return path
}

func (d cloud) stroke(c draw.Canvas, path vg.Path, size vg.Length) {
	c.SetLineStyle(draw.LineStyle{Color: d.colour, Width: size})
	c.Stroke(path)
}
