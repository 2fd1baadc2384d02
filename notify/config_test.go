package notify

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

func TestConfig(t *testing.T) {
	valid := stream.Config{Epoch: 1}
	if _, err := New(Config{Stream: valid}, stores(), nil); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	for _, bad := range []Config{
		{},
		{Stream: stream.Config{Epoch: 1, TailBytes: -1}},
		{Stream: stream.Config{Epoch: 1, LagAfter: -time.Second}},
		{Stream: stream.Config{Epoch: 1, Ahead: -time.Second}},
		{Stream: stream.Config{Epoch: 1, Recheck: -time.Second}},
		{Stream: valid, Webhook: webhook.Config{Timeout: -time.Second}},
		{Stream: valid, Webhook: webhook.Config{EndpointParallel: -1}},
		{Stream: valid, Webhook: webhook.Config{Parallel: -1}},
		{Stream: valid, Webhook: webhook.Config{SlowParallel: -1}},
		{Stream: valid, Webhook: webhook.Config{MaxLanes: -1}},
	} {
		if _, err := New(bad, stores(), nil); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func stores() Stores {
	store := memstore.New()
	return Stores{Webhooks: store, Streams: store}
}
