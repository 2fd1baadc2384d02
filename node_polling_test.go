package corona

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
)

// TestPollingView: everything that the engine tells of a channel is shown, and
// what it does not know is null or absent.
func TestPollingView(t *testing.T) {
	begun, due := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)
	full := engine.ChannelStats{
		LastPoll: begun, NextPoll: due, LastStatus: 429, LastError: "status 429", Failures: 2, SizeBytes: 9, FeedURL: "http://example.com/feed",
		Bounds:   []engine.Bound{{Source: "max-age", Interval: 24 * time.Hour, Clamped: true, Said: "8760h"}, {Source: "skip-days", Interval: 48 * time.Hour, Said: "Saturday Sunday"}},
		Waiting:  &engine.Waiting{For: "host", Until: due, Detail: "429"},
		Host:     engine.HostStats{Name: "example.com:80", Gap: 1500 * time.Millisecond, Parallel: 2, RestingUntil: due, Scope: "host", Refusals: 3},
		FinalURL: "http://www.example.com/", MovedTo: "http://www.example.com/", SameAs: channel.IDOf("http://www.example.com/"),
	}
	shown := api.Channel{
		LastPoll: &begun, NextPoll: &due, LastStatus: 429, LastError: "status 429", Failures: 2, SizeBytes: 9, FeedURL: "http://example.com/feed",
		Bounds: []api.Bound{
			{Source: api.BoundMaxAge, IntervalS: 86400, Clamped: true, Said: "8760h"},
			{Source: api.BoundSkipDays, IntervalS: 172800, Said: "Saturday Sunday"},
		},
		Waiting:  &api.Waiting{For: api.WaitHost, Until: &due, Detail: "429"},
		Host:     &api.ChannelHost{Name: "example.com:80", GapS: 1.5, Parallel: 2, RestingUntil: &due, Scope: api.ScopeHost, Refusals: 3},
		FinalURL: "http://www.example.com/", MovedTo: "http://www.example.com/", SameAs: channel.IDOf("http://www.example.com/"),
	}
	tests := []struct {
		name       string
		stats      engine.ChannelStats
		have, want api.Channel
	}{
		{"everything", full, api.Channel{Bounds: []api.Bound{}}, shown},
		{"nothing", engine.ChannelStats{}, api.Channel{Bounds: []api.Bound{}}, api.Channel{Bounds: []api.Bound{}}},
		{"until when is not known", engine.ChannelStats{Waiting: &engine.Waiting{For: "host"}}, api.Channel{}, api.Channel{Waiting: &api.Waiting{For: api.WaitHost}}},
		{"the owner knows where it moved", engine.ChannelStats{MovedTo: "http://c.example/"}, api.Channel{MovedTo: "http://b.example/"}, api.Channel{MovedTo: "http://b.example/"}},
	}
	for _, test := range tests {
		if addPolling(&test.have, &test.stats); !reflect.DeepEqual(test.have, test.want) {
			t.Errorf("%s: shown as\n%+v\nwant\n%+v", test.name, test.have, test.want)
		}
	}
}
