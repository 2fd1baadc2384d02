//go:build linux

package main

import (
	"math"
	"math/rand/v2"
)

// shares divides subscriptions among channels as Zipf's law does with exponent 0.5:
// the i-th most popular one, from 1, gets a share by 1/√i. Each gets one at least; so
// there must be as many subscriptions as channels.
func shares(subscriptions, channels int) []uint32 {
	wanted := make([]uint32, channels)
	total := 0.0
	for i := range wanted {
		total += 1 / math.Sqrt(float64(i+1))
	}
	rest, given, sum := float64(subscriptions-channels), 0.0, 0.0
	for i := range wanted {
		sum += 1 / math.Sqrt(float64(i+1))
		upTo := math.Round(rest * sum / total)
		wanted[i] = 1 + uint32(upTo-given)
		given = upTo
	}
	return wanted
}

// shuffled returns each channel's number as often as it is wanted, in an order that is
// the same each time.
func shuffled(wanted []uint32) (order []uint32) {
	for i, n := range wanted {
		for range n {
			order = append(order, uint32(i))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
