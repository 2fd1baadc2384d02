//go:build unix

package main

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// extractFigures compare the updates of a page with the changes of what its
// archivists extracted of it.
type extractFigures struct {
	History   string  `json:"history"`
	Updates   int     `json:"updates"`  // behind the captures for learning
	Mattered  int     `json:"mattered"` // changes of the extract meanwhile, at captures of the page
	Both      int     `json:"both"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// learning is how many captures a channel may take to learn its noise.
const learning = 28

func compareExtracts(lives map[string]*life) []extractFigures {
	var all []extractFigures
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		page, raw := strings.CutSuffix(name, "-raw")
		if extract := lives[page+"-extract"]; raw && extract != nil && len(lives[name].at) > learning {
			all = append(all, compareExtract(lives[name], extract))
		}
	}
	return all
}

func compareExtract(raw, extract *life) extractFigures {
	updates, mattered := from(raw.updates, raw.at[learning]), from(extract.changes, raw.at[learning])
	mattered = slices.DeleteFunc(mattered, func(at time.Time) bool { return !slices.ContainsFunc(raw.at, at.Equal) })
	f := extractFigures{History: raw.name, Updates: len(updates), Mattered: len(mattered)}
	for _, at := range updates {
		if slices.ContainsFunc(mattered, at.Equal) {
			f.Both++
		}
	}
	f.Precision = float64(f.Both) / float64(max(f.Updates, 1))
	f.Recall = float64(f.Both) / float64(max(f.Mattered, 1))
	return f
}

// from returns the times, which are in order, from begin on.
func from(times []time.Time, begin time.Time) []time.Time {
	at, _ := slices.BinarySearchFunc(times, begin, time.Time.Compare)
	return times[at:]
}
