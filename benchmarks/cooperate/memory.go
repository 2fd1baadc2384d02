//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
)

// Memory is judged by what the Go heap holds of channels after a collection. What is resident
// beside that does not grow with them: garbage, room of pebble, buffers of connections, and coders,
// which a process makes when it first needs them.

// heapRate has heaps sampled each 64 KiB, eight times as often as by default, in all nodes that
// this process starts.
const heapRate = "memprofilerate=65536"

// live is what a node's heap holds, in bytes, by the package that allocated it.
type live struct {
	owners, pollers, others int64
	largest                 string // packages, with MB
}

// ownersPackages and pollersPackages are those whose memory grows with the channels that a node
// owns, and that it polls. Package wedge holds mostly the pollers of what a node owns.
var (
	ownersPackages  = []string{"ownership", "primary", "honeycomb", "notify", "wedge"}
	pollersPackages = []string{"engine", "fetcher", "overlay"}
)

func liveOf(byPackage map[string]int64) (l live) {
	for name, bytes := range byPackage {
		top, _, _ := strings.Cut(strings.TrimPrefix(name, "corona/"), "/")
		switch {
		case slices.Contains(ownersPackages, top):
			l.owners += bytes
		case slices.Contains(pollersPackages, top):
			l.pollers += bytes
		default:
			l.others += bytes
		}
	}
	l.largest = largestOf(byPackage)
	return l
}

// largestOf names the packages that hold most.
func largestOf(byPackage map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(byPackage), func(a, b string) int {
		return cmp.Or(cmp.Compare(byPackage[b], byPackage[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(len(names), 8)] {
		parts = append(parts, fmt.Sprintf("%s %.1f", strings.TrimPrefix(name, "corona/"), float64(byPackage[name])/1e6))
	}
	return strings.Join(parts, ", ")
}

// state is what grows with channels.
func (l live) state() int64 { return l.owners + l.pollers }

func (l live) String() string {
	return fmt.Sprintf("%.1f (%.1f, %.1f, %.1f)", float64(l.state()+l.others)/1e6, float64(l.owners)/1e6, float64(l.pollers)/1e6, float64(l.others)/1e6)
}

// live reads what each node holds.
func (r *run) live(ctx context.Context) (all []live, err error) {
	if !r.beside {
		return nil, nil
	}
	for _, node := range r.cluster.Nodes {
		raw, err := profiles.Fetch(ctx, node.API, "", profiles.Heap+"?gc=1", 0)
		if err != nil {
			return nil, fmt.Errorf("heap of %s: %w", node.Name, err)
		}
		heap, err := profile.Parse(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("heap of %s: %w", node.Name, err)
		}
		byPackage, err := profiles.LiveByPackage(heap)
		if err != nil {
			return nil, fmt.Errorf("heap of %s: %w", node.Name, err)
		}
		all = append(all, liveOf(byPackage))
	}
	return all, nil
}

// mostMemory is by what factor nodes may hold more than their parts of what one node holds.
const mostMemory = 1.1

// memory is what a node may hold: what it holds idle, and its parts of what one node holds of all
// channels: each range is on replicas of nodes, and the node polls a share of the channels.
func memory(idle int64, one, idleOne live, replicas, share float64) float64 {
	owners, pollers := float64(one.owners-idleOne.owners), float64(one.pollers-idleOne.pollers)
	return float64(idle) + mostMemory*(replicas*owners+share*pollers)
}

// compareMemory judges what each node holds.
func (r *result) compareMemory(several, one *found, names []string) {
	replicas := min(3/float64(len(names)), 1)
	worst := 0.0
	for i, name := range names {
		polled := 0
		for _, pollers := range several.pollers {
			if slices.Contains(pollers, name) {
				polled++
			}
		}
		share := float64(polled) / float64(len(several.pollers))
		most := memory(several.liveIdle[i].state(), one.live[0], one.liveIdle[0], replicas, share)
		worst = max(worst, float64(several.live[i].state())/most)
		r.note("live heap of %s, MB (owners', pollers', others'): %s, idle %s; it polls %.3f of the channels, so %.1f is the most for owners' and pollers'",
			name, several.live[i], several.liveIdle[i], share, most/1e6)
	}
	r.note("live heap of one node: %s, idle %s", one.live[0], one.liveIdle[0])
	r.note("largest parts of %s: %s; idle: %s", names[0], several.live[0].largest, several.liveIdle[0].largest)
	r.note("largest parts of one node: %s; idle: %s", one.live[0].largest, one.liveIdle[0].largest)
	r.most("live heap of owners and pollers, to that of an idle node and 1.1 times its part of one node's", worst, 1)
	r.Figures["state_to_part"] = worst
}
