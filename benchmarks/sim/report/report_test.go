package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func sample() Report {
	curve := Series{Name: "a <curve>", X: []float64{0, 1, 10, 100}, Y: []float64{0, 3, math.NaN(), 2}}
	cloud := Series{Name: "cloud", X: []float64{1, 2, 3}, Y: []float64{0.5, math.Inf(1), 4}, Dots: true}
	return Report{
		Title: "What & how", Command: "corona sim --seed 1",
		Sections: []Section{
			{Heading: "Numbers", Paragraphs: []string{"One <b>."}, Table: Table{[]string{"scheme", "s"}, [][]string{{"lite", "16.03"}, {"a,b", ""}}}},
			{Heading: "Plots", Plots: []Plot{
				{Title: "plain", X: "x", Y: "y", Series: []Series{curve, cloud}},
				{Title: "logarithmic", X: "x", Y: "y", LogX: true, LogY: true, Series: []Series{curve, cloud, {Name: "nothing"}}},
				{Title: "empty", LogX: true, LogY: true},
				{Title: "named", Names: []string{"left", "right"}, Series: []Series{{Name: "found", X: []float64{0.1, 1.1}, Y: []float64{1, 2}, Dots: true, Reference: true}}},
			}},
		},
	}
}

// The page loads nothing from elsewhere, and what data say is text.
func TestPageStandsAlone(t *testing.T) {
	var b, again bytes.Buffer
	if err := sample().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if err := sample().WriteHTML(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("the same report is written in two ways (%v)", err)
	}
	page := b.String()
	for _, outside := range []string{"<script", "<link", "src=", "url(", "@import", "<b>"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page holds %q", outside)
		}
	}
	for _, want := range []string{">right</text>", "What &amp; how", "One &lt;b&gt;.", `<td class="n">16.03</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "</svg>"); n != 4 {
		t.Errorf("%d figures, want 4", n)
	}
}

// Each figure is well-formed by itself, without what only a file has.
func TestFiguresAreElements(t *testing.T) {
	for _, plot := range sample().Sections[1].Plots {
		text, err := plot.svg()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("<svg")) || bytes.Contains(text, []byte("NaN")) {
			t.Errorf("%s begins %.60q", plot.Title, text)
		}
		decoder := xml.NewDecoder(bytes.NewReader(text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", plot.Title, err)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What & how,corona sim --seed 1\n", "found,left,1\nfound,right,2\n", "Numbers\nscheme,s\nlite,16.03\n\"a,b\",\n", "plain\nseries,x,y\na <curve>,0,0\n", "cloud,3,4\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
