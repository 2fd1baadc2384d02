//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// change is what became of one change of a channel.
type change struct {
	channel, revision int
	at, next          time.Duration // when it came, and the one after it
	full, unchanged   time.Duration // when it was first answered with 200, and then with 304; never: neither
	told              time.Duration // never: it was not
	newest            int           // of what was told with it
}

const never = time.Duration(1<<63 - 1)

// follow puts together what became of the changes of all channels; those after the last ones
// of a channel come at the end.
func follow(changed [][]time.Duration, polls []poll, versions map[version]telling, end time.Duration) (changes []change) {
	first := make([]int, len(changed)) // of each channel, among changes
	for n, times := range changed {
		first[n] = len(changes)
		for i, at := range times {
			c := change{channel: n, revision: i + 2, at: at, next: end, full: never, unchanged: never, told: never}
			if i+1 < len(times) {
				c.next = times[i+1]
			}
			changes = append(changes, c)
		}
	}
	of := func(channel, revision int) *change {
		if revision < 2 || revision-2 >= len(changed[channel]) {
			return nil
		}
		return &changes[first[channel]+revision-2]
	}
	for _, p := range polls {
		switch c := of(int(p.channel), int(p.revision)); {
		case c == nil:
		case p.full:
			c.full = min(c.full, p.at)
		default:
			c.unchanged = min(c.unchanged, p.at)
		}
	}
	for key, told := range versions {
		for _, entry := range told.entries {
			if c := of(key.channel, entry); c != nil && told.at < c.told {
				c.told, c.newest = told.at, told.newest
			}
		}
	}
	return changes
}

// missed returns a line for each change that stood for two gaps between polls as they were
// planned, and was never told. gap returns the longest planned one of a channel.
func missed(changes []change, gap func(channel int) time.Duration) (lines []string, stood int) {
	for _, c := range changes {
		if c.next-c.at < 2*gap(c.channel) {
			continue
		}
		stood++
		if c.told == never {
			lines = append(lines, fmt.Sprintf("revision %d of channel %d stood from %s to %s and was never told", c.revision, c.channel, c.at.Round(time.Millisecond), c.next.Round(time.Millisecond)))
		}
	}
	return lines, stood
}

// behind returns a line for each change that a node holds, since it was answered with 304,
// and that was told with a later one only, or never.
func behind(changes []change) (lines []string) {
	for _, c := range changes {
		switch {
		case c.unchanged == never:
		case c.told == never:
			lines = append(lines, fmt.Sprintf("revision %d of channel %d was answered with 304 at %s and never told", c.revision, c.channel, c.unchanged.Round(time.Millisecond)))
		case c.newest > c.revision:
			lines = append(lines, fmt.Sprintf("revision %d of channel %d was answered with 304 at %s and told with revision %d at %s", c.revision, c.channel, c.unchanged.Round(time.Millisecond), c.newest, c.told.Round(time.Millisecond)))
		}
	}
	return lines
}

// twice returns a line for each entry that two versions of its channel added.
func twice(versions map[version]telling) (lines []string) {
	added := make(map[[2]int]uint64)
	for key, told := range versions {
		for _, entry := range told.entries {
			of := [2]int{key.channel, entry}
			if other, again := added[of]; again {
				lines = append(lines, fmt.Sprintf("revision %d of channel %d is told as versions %d and %d", entry, key.channel, min(other, key.version), max(other, key.version)))
			}
			added[of] = key.version
		}
	}
	slices.Sort(lines)
	return lines
}

// seen are the times from changes to the first answer that showed them and from there to
// when they were told, of those that were, sorted.
func seen(changes []change, of span) (detected, told []time.Duration) {
	for _, c := range changes {
		if !of.has(c.at) || c.full == never {
			continue
		}
		detected = append(detected, max(c.full-c.at, 0))
		if c.told != never && c.newest == c.revision {
			told = append(told, max(c.told-c.full, 0))
		}
	}
	slices.Sort(detected)
	slices.Sort(told)
	return detected, told
}

// hops counts the messages between nodes that the changes told within a span needed: one to
// the owner unless that has found it, and one to each other poller.
func hops(changes []change, polls []poll, of span, owners []string, pollers [][]string, names []string) (updates, messages int) {
	finder := make(map[[2]int32]string)
	for _, p := range polls {
		key := [2]int32{p.channel, p.revision}
		if _, found := finder[key]; p.full && !found {
			finder[key] = names[p.node]
		}
	}
	for _, c := range changes {
		if !of.has(c.told) || c.newest != c.revision {
			continue
		}
		found := finder[[2]int32{int32(c.channel), int32(c.revision)}]
		updates++
		if found != owners[c.channel] {
			messages++
		}
		for _, node := range pollers[c.channel] {
			if node != found && node != owners[c.channel] {
				messages++
			}
		}
	}
	return updates, messages
}

// quantile returns a quantile of sorted times, 0 of none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[int(q*float64(len(times)-1))]
}
