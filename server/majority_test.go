package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/server"
)

// noMajority is a node that finds none: whatever it is asked, it waits for as
// long as it may.
type noMajority struct{ fakeNode }

func wait(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("propose: %w", ctx.Err())
}

func (*noMajority) Subscribe(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
	err := wait(ctx)
	outcomes := make([]api.SubscribeOutcome, len(requests))
	for i := range outcomes {
		outcomes[i].Err = err
	}
	return outcomes
}

func (*noMajority) Unsubscribe(ctx context.Context, _ string) error { return wait(ctx) }

func (*noMajority) Subscription(ctx context.Context, _ string) (*api.Subscription, error) {
	return nil, wait(ctx)
}

func (*noMajority) Subscriptions(ctx context.Context, _ api.SubscriptionQuery) (*api.Subscriptions, error) {
	return nil, wait(ctx)
}

func (*noMajority) Channel(ctx context.Context, _ channel.ID) (*api.Channel, error) {
	return nil, wait(ctx)
}

func (*noMajority) Channels(ctx context.Context, _ *channel.ID, _ int) ([]api.Channel, error) {
	return nil, wait(ctx)
}

func (*noMajority) Updates(ctx context.Context, _ channel.ID, _ uint64, _ int) (*api.Updates, error) {
	return nil, wait(ctx)
}

func (*noMajority) Stream(ctx context.Context, _ api.StreamFilter, _ string) (api.EventStream, error) {
	return nil, wait(ctx)
}

func (*noMajority) Status(ctx context.Context) (*api.Status, error) { return nil, wait(ctx) }

func (*noMajority) Ready(ctx context.Context) error { return wait(ctx) }

// Row 42: a node that finds no majority is answered 503 within 5 s, whatever it
// is asked, and so that clients know that they may ask again.
func TestRow42NoMajority(t *testing.T) {
	id := strings.Repeat("0", 40)
	for _, call := range [][2]string{
		{"POST", "/v1/subscriptions"}, {"GET", "/v1/subscriptions"}, {"GET", "/v1/subscriptions/x"}, {"DELETE", "/v1/subscriptions/x"},
		{"GET", "/v1/channels"}, {"GET", "/v1/channels?url=" + feed}, {"GET", "/v1/channels/" + id}, {"GET", "/v1/channels/" + id + "/updates"},
		{"GET", "/v1/updates"}, {"GET", "/v1/status"}, {"GET", "/readyz"},
	} {
		t.Run(call[0]+" "+call[1], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newServer(t, &noMajority{}, server.Config{})
				begun := time.Now()
				w := serve(s, request(call[0], call[1], sseBody))
				if took := time.Since(begun); took >= 5*time.Second {
					t.Errorf("took %s", took)
				}
				wantNotNow(t, w)
			})
		})
	}
}

// Row 42: a node that says at once that there is no majority is answered so.
func TestRow42NodeSaysNoMajority(t *testing.T) {
	s, _ := newServer(t, &fakeNode{failure: api.NewProblem(http.StatusServiceUnavailable, "no majority")}, server.Config{})
	wantNotNow(t, serve(s, request("POST", "/v1/subscriptions", sseBody)))
}
