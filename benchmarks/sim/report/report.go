// Package report writes what a simulation found as one HTML page that opens
// without a network, plots inside, and as CSV.
package report

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
)

// A Report is a page. Equal reports are written alike, byte for byte.
type Report struct {
	Title    string
	Command  string // that makes it
	Sections []Section
}

// A Section is a heading with what belongs under it; all but the heading may be
// empty.
type Section struct {
	Heading    string
	Paragraphs []string
	Table      Table
	Plots      []Plot
}

// A Table has as many cells in each row as in its header.
type Table struct {
	Header []string
	Rows   [][]string
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"svg": svg, "numeric": numeric, "numbers": numbers}).Parse(pageText))

// WriteHTML writes the page.
func (r Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// svg is a plot for the page: made here, of numbers and our own words.
func svg(p Plot) (template.HTML, error) {
	text, err := p.svg()
	return template.HTML(text), err
}

// numeric says whether a cell is to stand on the right.
func numeric(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil || cell == "" || cell == "–"
}

// numbers says whether a column is of figures.
func numbers(t Table, column int) bool { return numeric(t.Rows[0][column]) }

// WriteCSV writes title and command, then all tables and all points of all
// plots, each under a line with its name.
func (r Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{r.Title, r.Command})
	for _, s := range r.Sections {
		if len(s.Table.Rows) > 0 {
			out.Write([]string{s.Heading})
			out.Write(s.Table.Header)
			out.WriteAll(s.Table.Rows)
		}
		for _, p := range s.Plots {
			p.writeCSV(out)
		}
	}
	out.Flush()
	return out.Error()
}

func (p Plot) writeCSV(out *csv.Writer) {
	out.Write([]string{p.Title})
	out.Write([]string{"series", p.X, p.Y})
	for _, series := range p.Series {
		for i := range series.X {
			out.Write([]string{series.Name, p.at(series.X[i]), number(series.Y[i])})
		}
	}
}

// at says where a point is.
func (p Plot) at(x float64) string {
	if len(p.Names) > 0 {
		return p.Names[int(math.Round(x))]
	}
	return number(x)
}

func number(v float64) string { return fmt.Sprintf("%.6g", v) }
