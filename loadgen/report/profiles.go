package report

import (
	"html/template"
	"path/filepath"
	"strconv"

	"github.com/google/pprof/profile"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
	"github.com/seed-91e7e7c1/corona/loadgen/run"
)

// profileView is a profile as the page shows it.
type profileView struct {
	Node, Kind string
	Total      string
	Top, Parts []profiles.Row
	Flame      template.HTML
	Err        error // why there is none
}

// mostRows bounds a table of functions.
const mostRows = 15

func readProfiles(folder string, taken []*run.Profile) (shown []profileView) {
	for _, t := range taken {
		v := profileView{Node: t.Node, Kind: t.Kind, Err: t.Err}
		if v.Err == nil {
			var p *profile.Profile
			if p, v.Err = profiles.Read(filepath.Join(folder, t.File)); v.Err == nil {
				v.Total = amount(profiles.Total(p), profiles.Unit(p))
				v.Top, v.Parts, v.Flame = profiles.Top(p, mostRows), profiles.Parts(p), profiles.Flame(p)
			}
		}
		shown = append(shown, v)
	}
	return shown
}

// amount writes what a profile sums up.
func amount(v float64, unit string) string {
	switch unit {
	case "nanoseconds":
		return strconv.FormatFloat(v/1e9, 'f', 2, 64) + " s"
	case "bytes":
		return strconv.FormatFloat(v/(1<<20), 'f', 1, 64) + " MiB"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
