//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/arrival"
)

// overCaps returns a line for each host that was asked more often than most times within an
// interval, with the most that it was asked. What the kernel may note late is let pass.
func overCaps(places []place, polls []poll, interval time.Duration, most int) (lines []string) {
	byHost := make(map[int][]time.Duration)
	for _, p := range polls {
		host := places[p.channel].host
		byHost[host] = append(byHost[host], p.at)
	}
	for host, times := range byHost {
		if n, at := busiest(times, interval-arrival.Error); n > most {
			lines = append(lines, fmt.Sprintf("host %d was asked %d times within %s from %s on, %d are its cap", host, n, interval, at.Round(time.Millisecond), most))
		}
	}
	slices.Sort(lines)
	return lines
}

// busiest returns the most times within a window, which does not hold its end, and when that
// begins.
func busiest(times []time.Duration, window time.Duration) (most int, at time.Duration) {
	slices.Sort(times)
	for first, i := 0, 0; i < len(times); i++ {
		for times[i]-times[first] >= window {
			first++
		}
		if n := i - first + 1; n > most {
			most, at = n, times[first]
		}
	}
	return most, at
}

// loads are the polls in each interval that begins with a second of a span and ends within
// it.
func loads(polls []poll, of span, interval time.Duration) (counts []int) {
	times := make([]time.Duration, 0, len(polls))
	for _, p := range polls {
		times = append(times, p.at)
	}
	slices.Sort(times)
	for from := of.from; from+interval <= of.to; from += time.Second {
		first, _ := slices.BinarySearch(times, from)
		last, _ := slices.BinarySearch(times, from+interval)
		counts = append(counts, last-first)
	}
	return counts
}

// fullAnswers counts the answers with 200 that a span has, and the changes that they
// were of.
func fullAnswers(polls []poll, of span) (answers, changes int) {
	seen := make(map[[2]int32]bool)
	for _, p := range polls {
		key := [2]int32{p.channel, p.revision}
		if p.revision < 2 || !p.full {
			continue
		}
		if of.has(p.at) {
			answers++
			if !seen[key] {
				changes++
			}
		}
		seen[key] = true
	}
	return answers, changes
}

// shares is the part of a span's polls that each node made, the largest first.
func shares(polls []poll, of span, nodes int) (parts []float64) {
	counts, all := make([]int, nodes), 0
	for _, p := range polls {
		if of.has(p.at) {
			counts[p.node]++
			all++
		}
	}
	for _, n := range counts {
		parts = append(parts, float64(n)/float64(max(all, 1)))
	}
	slices.Sort(parts)
	slices.Reverse(parts)
	return parts
}
