package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A legend stands under its plot, where it hides no data.
type legend []entry

type entry struct {
	name      string
	thumbnail plot.Thumbnailer
}

const (
	legendColumns           = 3
	legendLine    vg.Length = 14
	margin        vg.Length = 4
)

func (l legend) rows() int { return (len(l) + legendColumns - 1) / legendColumns }

// height is what the legend takes, with its margins: two above, one below.
func (l legend) height() vg.Length { return legendLine*vg.Length(l.rows()) + 3*margin }

// draw writes names row by row from the top of a canvas.
func (l legend) draw(c draw.Canvas) {
	width := (c.Max.X - c.Min.X) / legendColumns
	for i, e := range l {
		cell := c
		cell.Min.X += width * vg.Length(i%legendColumns)
		cell.Max.Y -= legendLine * vg.Length(i/legendColumns)
		one := plot.NewLegend()
		one.Top, one.Left = true, true
		one.TextStyle.Font.Variant, one.TextStyle.Font.Size = "Sans", 10
		one.Add(e.name, e.thumbnail)
		one.Draw(cell)
	}
}
