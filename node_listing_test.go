package corona_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// listed is what a walk has come across.
type listed struct {
	times map[string]int // by ID
	end   bool
}

func (l *listed) add(t *rapid.T, id string) {
	if l.times[id]++; l.times[id] > 1 {
		t.Fatalf("%s comes twice", id)
	}
}

// listing is one walk through channels and one through subscriptions, while both
// change.
type listing struct {
	node      *corona.Node
	limit     int
	subs      listed
	after     string
	channels  listed
	afterID   *channel.ID
	temporary []string // subscriptions that may be ended
	made      *int     // URLs so far
}

func (l *listing) page(t *rapid.T) {
	page, err := l.node.Subscriptions(context.Background(), api.SubscriptionQuery{After: l.after, Limit: l.limit})
	if err != nil {
		t.Fatal(err)
	}
	if !l.subs.end {
		for _, s := range page.Subscriptions {
			l.subs.add(t, s.ID)
		}
		l.after, l.subs.end = page.Next, page.Next == ""
	}
	channels, err := l.node.Channels(context.Background(), l.afterID, l.limit)
	if err != nil {
		t.Fatal(err)
	}
	for i := range channels {
		l.channels.add(t, channels[i].ID.String())
		l.afterID = &channels[i].ID
	}
	l.channels.end = len(channels) == 0
}

// change makes subscriptions to new channels and ends others.
func (l *listing) change(t *rapid.T) {
	wanted := make([]string, rapid.IntRange(0, 5).Draw(t, "new"))
	for i := range wanted {
		*l.made++
		wanted[i] = fmt.Sprintf("http://127.0.0.1:9199/new/%d", *l.made)
	}
	for _, made := range subscribeTo(t, l.node, wanted) {
		l.temporary = append(l.temporary, made.ID)
	}
	for range rapid.IntRange(0, min(7, len(l.temporary))).Draw(t, "ended") {
		i := rapid.IntRange(0, len(l.temporary)-1).Draw(t, "which")
		if err := l.node.Unsubscribe(context.Background(), l.temporary[i]); err != nil {
			t.Fatal(err)
		}
		l.temporary = append(l.temporary[:i], l.temporary[i+1:]...)
	}
}

func subscribeTo(t interface{ Fatal(...any) }, node *corona.Node, urls []string) []api.Subscription {
	requests := make([]api.SubscribeRequest, len(urls))
	for i, url := range urls {
		requests[i] = api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}}
	}
	var made []api.Subscription
	for _, outcome := range node.Subscribe(context.Background(), requests) {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		made = append(made, *outcome.Subscription)
	}
	return made
}

// A walk through a list that changes meanwhile brings what was there all along
// exactly once, and nothing twice.
func TestWalksWhileListsChange(t *testing.T) {
	node, err := corona.Open(t.Context(), corona.Config{
		Data: t.TempDir(), Interval: time.Second, Floor: time.Second, Ranges: 4, AllowPrivate: true, HostGap: time.Hour, // of the one host: nothing is polled
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeNode(t, node)
	urls := make([]string, 150)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://127.0.0.1:9199/kept/%d", i)
	}
	kept := subscribeTo(t, node, urls)
	var made int
	var left []string
	rapid.Check(t, func(t *rapid.T) {
		l := &listing{node: node, made: &made, temporary: left, limit: rapid.IntRange(30, 100).Draw(t, "limit")}
		l.subs.times, l.channels.times = make(map[string]int), make(map[string]int)
		for !l.subs.end || !l.channels.end {
			l.page(t)
			l.change(t)
		}
		left = l.temporary
		for _, s := range kept {
			if l.subs.times[s.ID] != 1 || l.channels.times[s.Channel.String()] != 1 {
				t.Fatalf("%s, %s: %d and %d times", s.ID, s.URL, l.subs.times[s.ID], l.channels.times[s.Channel.String()])
			}
		}
	})
}
