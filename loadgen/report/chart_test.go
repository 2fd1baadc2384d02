package report

import (
	"fmt"
	"regexp"
	"testing"
)

// Axes have a few round numbers.
func TestAxes(t *testing.T) {
	labels := regexp.MustCompile(`text-anchor="middle">([^<]*)<`)
	for _, test := range []struct {
		points []point
		ticks  func(float64) string
		want   string
	}{
		{[]point{{0, 1}, {19, 3}}, nil, "[0 5 10 15]"},
		{[]point{{7, 1}, {17, 3}}, nil, "[8 10 12 14 16]"},
		{[]point{{0, 1}, {12000, 3}}, nil, "[0 2500 5000 7500 10000]"},
		{[]point{{0, 1}, {4, 3}}, nines, "[0 % 90 % 99 % 99.9 % 99.99 %]"},
		{nil, nil, "[0 0.2 0.4 0.6 0.8 1]"},
	} {
		found := []string{}
		for _, label := range labels.FindAllStringSubmatch(string(chart{Series: []line{{points: test.points}}, ticks: test.ticks}.SVG()), -1) {
			found = append(found, label[1])
		}
		if got := fmt.Sprint(found); got != test.want {
			t.Errorf("%v: %s, want %s", test.points, got, test.want)
		}
	}
}
