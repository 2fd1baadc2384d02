//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// dates returns when the entries of a channel came whose update interval is known, so that
// nodes know it from the first document on: those of changes when these were, those before
// at even distances. It returns nil for other channels.
func (o *origin) dates(number int) func(entry int) time.Time {
	if o.updates == nil {
		return nil
	}
	every := time.Duration(o.updates[number] * float64(time.Second))
	o.mu.Lock()
	changed := o.mu.changed[number] // what is appended later is not asked for
	o.mu.Unlock()
	return func(entry int) time.Time {
		if entry >= 2 {
			return o.began.Add(changed[entry-2])
		}
		return o.began.Add(-every/2 - time.Duration(1-entry)*every)
	}
}

// picker returns what draws the channel that changes next: each as often as is known of it,
// or all alike.
func (o *origin) picker() func(random *rand.Rand) int {
	if o.updates == nil {
		return func(random *rand.Rand) int { return random.IntN(o.channels) }
	}
	upTo := make([]float64, 0, o.channels)
	sum := 0.0
	for _, every := range o.updates {
		sum += 1 / every
		upTo = append(upTo, sum)
	}
	return func(random *rand.Rand) int {
		n, _ := slices.BinarySearch(upTo, random.Float64()*sum)
		return min(n, o.channels-1)
	}
}

// changesOf is how many changes a second channels of known intervals have together.
func changesOf(places []place) (perSecond float64) {
	for _, p := range places {
		perSecond += 1 / p.updateS
	}
	return perSecond
}
