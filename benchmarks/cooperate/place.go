//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
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
	popularity = 0.5 // exponent of Zipf's law, of channels and of hosts
)

// layOut spreads channels over hosts and subscriptions over channels, independently.
func (o *options) layOut() []place {
	return o.spread(scenario.Shares(o.channels, o.subscriptions, popularity))
}

// spread spreads channels with so many subscribers over hosts.
func (o *options) spread(crowds []int) []place {
	random, hosts := rand.New(rand.NewPCG(o.seed, 0)), scenario.Shares(o.hosts, max(o.channels, o.hosts), popularity)
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
