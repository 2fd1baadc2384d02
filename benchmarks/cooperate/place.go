//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/channel"
)

// place is a channel at the origin.
type place struct {
	url         string
	id          channel.ID
	host        int
	subscribers int
	updateS     float64 // mean seconds between two changes, where nodes are to know it; 0: they are not
}

const (
	mostHosts  = 10_000
	originPort = 9100
)

// layOut spreads channels over hosts and subscriptions over channels, independently.
func (o *options) layOut() []place { return o.spread(zipf(o.channels, o.subscriptions)) }

// spread spreads channels with so many subscribers over hosts.
func (o *options) spread(crowds []int) []place {
	random, hosts := rand.New(rand.NewPCG(o.seed, 0)), zipf(o.hosts, max(o.channels, o.hosts))
	var on []int
	for host, channels := range hosts {
		for range channels {
			on = append(on, host)
		}
	}
	random.Shuffle(len(on), func(i, j int) { on[i], on[j] = on[j], on[i] })
	places := make([]place, o.channels)
	for n := range places {
		places[n] = newPlace(n, on[n], crowds[n])
	}
	return places
}

func newPlace(number, host, subscribers int) place {
	address := cluster.Hosts.Addr().As4()
	address[2], address[3] = byte(1+host/250), byte(1+host%250)
	url := fmt.Sprintf("http://%s%s%d", netip.AddrPortFrom(netip.AddrFrom4(address), originPort), channelPath, number)
	return place{url: url, id: channel.IDOf(url), host: host, subscribers: subscribers}
}

// zipf divides a sum into so many parts of 1 at least, of which the i-th is larger than 1 in
// proportion to 1/√i.
func zipf(parts, sum int) []int {
	total := 0.0
	for i := range parts {
		total += 1 / math.Sqrt(float64(i+1))
	}
	shares := make([]int, parts)
	upTo, given := 0.0, 0
	for i := range shares {
		upTo += float64(sum-parts) / math.Sqrt(float64(i+1)) / total
		shares[i] = 1 + int(upTo+0.5) - given
		given = int(upTo + 0.5)
	}
	return shares
}
