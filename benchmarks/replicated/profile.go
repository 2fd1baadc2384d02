package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// part is a part of a node's processor time.
type part struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // of all samples
}

// kinds say to which part a sample belongs: that of the first function, from the
// innermost outwards, whose name begins with one of a kind's prefixes. What the Go
// runtime and the standard library do for a part counts as the part's.
var kinds = []struct {
	part     string
	prefixes []string
}{
	{"garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart", "runtime.gcMarkDone"}},
	{"scheduling goroutines", []string{"runtime.schedule", "runtime.mcall", "runtime.park_m", "runtime.findRunnable", "runtime.mstart"}},
	{"TLS", []string{"crypto/"}},
	{"sockets", []string{"net.("}},
	{"log: sharedlog and its pebble", []string{module + "ownership/sharedlog."}},
	{"raft", []string{"github.com/hashicorp/raft."}},
	{"connections between nodes: peer and raft's transport", []string{module + "internal/peer.", module + "ownership/internal/raftnet."}},
	{"clients' connections: HTTP/2", []string{"net/http.", "main."}},
	{"ranges: batches, state and its pebble", []string{module + "ownership.", module + "ownership/internal/", module + "channel."}},
	{"pebble in the background", []string{"github.com/cockroachdb/pebble/"}},
}

const (
	module = "github.com/seed-91e7e7c1/corona/"
	others = "others"
	// profileFor is how long a node is profiled, under load, after the last window.
	profileFor = 10 * time.Second
)

// profileNode profiles a node and returns the parts of its processor time, the largest
// first. It keeps the profile in a file, if that has a name.
func profileNode(ctx context.Context, admin, file string) ([]part, error) {
	url := fmt.Sprintf("%s%s?seconds=%d", admin, profilePath, int(profileFor.Seconds()))
	content, err := get(ctx, url, profileFor+askWithin)
	if err != nil {
		return nil, err
	}
	if file != "" {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
	}
	p, err := profile.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("profile of a node: %w", err)
	}
	return parts(p), nil
}

func parts(p *profile.Profile) (all []part) {
	const value = 1 // of a processor profile's sample: nanoseconds
	times, sum := make(map[string]float64), 0.0
	for _, sample := range p.Sample {
		times[partOf(functions(sample))] += float64(sample.Value[value])
		sum += float64(sample.Value[value])
	}
	for name, time := range times {
		all = append(all, part{name, time / sum})
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name)) })
	return all
}

// functions are the names of a sample's stack, the innermost first.
func functions(sample *profile.Sample) (names []string) {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

func partOf(functions []string) string {
	for _, function := range functions {
		for _, kind := range kinds {
			if slices.ContainsFunc(kind.prefixes, func(prefix string) bool { return strings.HasPrefix(function, prefix) }) && !background(kind.part, functions) {
				return kind.part
			}
		}
	}
	return others
}

// background keeps pebble's functions from counting as the background's where a part
// that has called them stands further out.
func background(name string, functions []string) bool {
	return name == kinds[len(kinds)-1].part && slices.ContainsFunc(functions, func(f string) bool { return strings.HasPrefix(f, module) })
}
