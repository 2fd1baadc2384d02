package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	workload "github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// place is a channel of the scenario.
type place struct {
	number      int // among the origin's channels, which lie on host number modulo hosts
	subscribers int
	url         string
	id          channel.ID
}

// layOut spreads channels over hosts, the first of which get the most, and
// subscriptions over channels, both by Zipf's law with exponent 0.5, independent of
// each other. The most popular channel comes first.
func layOut(o options) []place {
	random := rand.New(rand.NewPCG(o.seed, 0))
	crowds := workload.Shares(o.channels, o.subscriptions, 0.5)
	sizes := workload.Shares(o.hosts, max(o.channels, o.hosts), 0.5)
	places := make([]place, 0, o.channels)
	for host, size := range sizes {
		for k := range size {
			if len(places) < o.channels {
				places = append(places, place{number: host + k*o.hosts})
			}
		}
	}
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for i := range places {
		places[i].subscribers = crowds[i]
	}
	return places
}

// originChannels is how many channels the origin needs so that all places are there.
func originChannels(places []place) int {
	most := 0
	for _, p := range places {
		most = max(most, p.number)
	}
	return most + 1
}

// name fills in URLs, which the origin lists in the order of its channels.
func name(places []place, list io.Reader) error {
	byNumber := make(map[int]*place, len(places))
	for i := range places {
		byNumber[places[i].number] = &places[i]
	}
	lines := bufio.NewScanner(list)
	for number := 0; lines.Scan(); number++ {
		if p := byNumber[number]; p != nil {
			p.url, p.id = lines.Text(), channel.IDOf(lines.Text())
			delete(byNumber, number)
		}
	}
	if len(byNumber) > 0 {
		return fmt.Errorf("the origin has no URL for %d channels: %w", len(byNumber), lines.Err())
	}
	return nil
}

// subscribe makes a number of subscriptions to a channel and keeps their IDs.
func (s *scenario) subscribe(ctx context.Context, p *place, times int) error {
	p.subscribers += times
	return s.subscribeTo(ctx, func(yield func(api.SubscribeRequest) bool) {
		for range times {
			if !yield(request(p.url)) {
				return
			}
		}
	})
}

// subscribeAll makes the subscriptions of all places, channel by channel.
func (s *scenario) subscribeAll(ctx context.Context) error {
	return s.subscribeTo(ctx, func(yield func(api.SubscribeRequest) bool) {
		for _, p := range s.places {
			for range p.subscribers {
				if !yield(request(p.url)) {
					return
				}
			}
		}
	})
}

func request(url string) api.SubscribeRequest {
	return api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}}
}

func (s *scenario) subscribeTo(ctx context.Context, requests func(func(api.SubscribeRequest) bool)) error {
	for result, err := range s.client.Batch(ctx, requests) {
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		if result.Error != nil {
			return fmt.Errorf("subscribe: %w", result.Error)
		}
		s.subscriptions = append(s.subscriptions, subscription{result.ID, result.Channel})
	}
	return nil
}

// subscription is one that can be ended.
type subscription struct {
	id      string
	channel channel.ID
}
