package clitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// The URLs of the channels that the fake node has.
const (
	FeedURL = "https://blog.example/feed.xml"
	PageURL = "https://blog.example/"
	GoneURL = "https://gone.example/"
	BusyURL = "http://busy.example:8080/feed"
)

func moment(second int) time.Time { return time.Date(2026, 11, 20, 9, 35, second, 0, time.UTC) }

// At returns a time whose second is given.
func At(second int) *time.Time { t := moment(second); return &t }

// fakeSubscriptions are one in each state.
func fakeSubscriptions() []api.Subscription {
	return []api.Subscription{
		{ID: "sub_aaaa", Channel: channel.IDOf(FeedURL), URL: FeedURL, Sink: api.Sink{Type: api.SinkSSE},
			Created: moment(0), FromVersion: 2, State: api.StateActive},
		{ID: "sub_bbbb", Channel: channel.IDOf(PageURL), URL: PageURL, Sink: api.Sink{Type: api.SinkWebhook, URL: "https://hook.example/"},
			Created: moment(1), FromVersion: 3, State: api.StateSuspended, DeliveredVersion: 7, LastError: "status 500", FailingSince: At(2)},
	}
}

// FakeChannels are a feed with much to say, a page that does not answer, one that
// is gone, and one whose host has had enough.
func FakeChannels() []api.Channel {
	return []api.Channel{
		{ID: channel.IDOf(FeedURL), URL: FeedURL, Subscribers: 12, Version: 42, Kind: "feed", SizeBytes: 45123, UpdateIntervalS: 5400, Rate: 6, PollIntervalS: 300, Width: 1,
			Owner: "n1", Pollers: []string{"n1"}, LastPoll: At(3), LastChange: At(3), LastStatus: 200, NextPoll: At(33),
			Bounds: []api.Bound{
				{Source: api.BoundMaxAge, IntervalS: 86400, Clamped: true, Said: "8760h"},
				{Source: api.BoundTTL, IntervalS: 5400, Said: "1h30m"},
				{Source: api.BoundSkipHours, IntervalS: 10800, Said: "0 1 2\x1b[2J"},
			},
			Waiting:  &api.Waiting{For: api.WaitFreshness, Until: At(33)},
			Host:     &api.ChannelHost{Name: "feeds.example:443", GapS: 1, Parallel: 2},
			FinalURL: "https://feeds.example/blog", MovedTo: "https://feeds.example/", MovedSince: At(1), SameAs: channel.IDOf("https://feeds.example/blog"),
			Held: fakeHeld()},
		{ID: channel.IDOf(PageURL), URL: PageURL, Subscribers: 1, Rate: 1. / 48, PollIntervalS: 86400, Width: 1, Owner: "n1", Pollers: []string{"n1"}, Bounds: []api.Bound{},
			LastPoll: At(4), LastError: "connect: connection refused", Failures: 3, NextPoll: At(44), UpdateIntervalS: 604800,
			Waiting: &api.Waiting{For: api.WaitFailures, Until: At(44)}, Host: &api.ChannelHost{Name: "blog.example:443", Parallel: 2},
			FinalURL: "https://www.blog.example/", MovedTo: "https://www.blog.example/", MovedSince: At(1), MovedLearned: true},
		{ID: channel.IDOf(GoneURL), URL: GoneURL, Version: 1, Kind: "html", Owner: "n1", Pollers: []string{}, Bounds: []api.Bound{},
			UpdateIntervalS: 604800, Gone: true},
		{ID: channel.IDOf(BusyURL), URL: BusyURL, Subscribers: 1, Rate: 1, Width: 1, Owner: "n1", Pollers: []string{"n1"}, Bounds: []api.Bound{}, NextPoll: At(50),
			Waiting: &api.Waiting{For: api.WaitHost, Until: At(49), Detail: "429 Too Many Requests"},
			Host:    &api.ChannelHost{Name: "busy.example:8080", GapS: 2.5, Parallel: 1, RestingUntil: At(49), Scope: api.ScopeHost, Refusals: 2}},
	}
}

// FakeUpdates are an update of a feed with everything in it, hostile text too,
// and one of a page.
func FakeUpdates() []api.Update {
	return []api.Update{
		{Channel: channel.IDOf(FeedURL), URL: FeedURL, Version: 41, Previous: 40, DetectedAt: moment(6), Kind: "feed", DeltaBytes: 321,
			Entries: deltas.Entries{
				Added:   []deltas.Entry{{ID: "1", Title: "Announcing \x1b[2J\u202e1.99", Link: "https://blog.example/1"}},
				Changed: []deltas.Entry{{ID: "2", Title: "Second", Fields: []string{"title", "summary"}}},
				Removed: []deltas.Entry{{ID: "tag:3"}},
			},
			Diff: "@@ -1,2 +1,2 @@\n-title First\n+title Second\x07\n"},
		{Channel: channel.IDOf(FeedURL), URL: FeedURL, Version: 42, Previous: 41, DetectedAt: moment(7), Kind: "html", Truncated: true,
			Entries: deltas.Entries{Added: []deltas.Entry{}, Changed: []deltas.Entry{}, Removed: []deltas.Entry{}},
			Diff:    "+a line\n",
			Masked: []deltas.Mask{
				{What: "region", Text: "Tip \x1b[2J\nSleep", Why: "what stands here changed at two looks in a row, at least 9 times"},
				{What: "number", Text: "far: 48,037", Why: "it changed at two looks in a row"},
			}},
	}
}

func fakeHeld() *api.Held { return &api.Held{Since: moment(2), What: deltas.HoldText("removal")} }

func pointer[T any](v T) *T { return &v }

// fakeExplanations are of [FakeChannels]: one that the budget decides about, one with
// less than a poll per interval, by bytes, one whose host is full, one that is gone.
func fakeExplanations() []api.Explanation {
	neighbours := api.Neighbours{
		LastIn:   &api.Neighbour{Channel: channel.IDOf(BusyURL), URL: BusyURL, Rate: 2, WorthS: 9.1},
		FirstOut: &api.Neighbour{Channel: channel.IDOf(FeedURL), URL: FeedURL, Rate: 6, WorthS: 9.02},
	}
	host := api.PlannedHost{Name: "busy.example:8080", Planned: 1710, Cap: pointer(1710.), MuS: 17.5}
	return []api.Explanation{
		{Channel: channel.IDOf(FeedURL), URL: FeedURL, Policy: "lite", Ladder: "any", Cost: "polls", IntervalS: 1800, FloorS: 60,
			Rate: 6, PollIntervalS: 300, Width: 1, DecidedBy: api.DecidedByWorth,
			Factors: api.Factors{Subscribers: 12, SizeBytes: 45123, UpdateIntervalS: 5400.4, Weight: 12, Cost: 1},
			Least:   api.RateBound{Rate: 1, By: api.RateByOnce}, Most: api.RateBound{Rate: 30, By: api.RateByFloor},
			Worth: api.Worth{LastS: pointer(12.3), NextS: pointer(9.02), NeededS: 9.1, LambdaS: 9.1}, Neighbours: neighbours,
			Noise: []api.Noise{{What: "number", Text: "… readers", Lines: 2, Why: "it changed at two looks in a row, at least 9 times", CalmS: 43200}},
			Held:  fakeHeld(),
			Host:  &api.PlannedHost{Name: "feeds.example:443", Planned: 300}, NextPoll: At(33), Waiting: &api.Waiting{For: api.WaitFreshness, Until: At(33)}, Solved: At(5)},
		{Channel: channel.IDOf(PageURL), URL: PageURL, Policy: "fair", Ladder: "any", Cost: "bytes", IntervalS: 1800, FloorS: 300,
			Rate: 1. / 48, PollIntervalS: 86400, Width: 1, DecidedBy: api.RateByBudget,
			Factors: api.Factors{Subscribers: 1, SizeBytes: 20000, UpdateIntervalS: 604800, Weight: 0.00297, Cost: 20000},
			Least:   api.RateBound{Rate: 1. / 48, By: api.RateByBudget}, Most: api.RateBound{Rate: 6, By: api.RateByFloor},
			Worth: api.Worth{NextS: pointer(0.001), NeededS: 2.5, LambdaS: 2.5}, NextPoll: At(44), Solved: At(5)},
		{Channel: channel.IDOf(BusyURL), URL: BusyURL, Policy: "lite", Ladder: "any", Cost: "polls", IntervalS: 1800, FloorS: 300,
			Rate: 1, PollIntervalS: 1800, Width: 1, DecidedBy: api.RateByHost,
			Factors: api.Factors{Subscribers: 1, UpdateIntervalS: 600, Weight: 1, Cost: 1},
			Least:   api.RateBound{Rate: 1, By: api.RateByOnce}, Most: api.RateBound{Rate: 1, By: api.RateByHost},
			Worth: api.Worth{NeededS: 26.6, LambdaS: 9.1}, Neighbours: neighbours, Host: &host, NextPoll: At(50), Solved: At(5)},
		{Channel: channel.IDOf(GoneURL), URL: GoneURL, DecidedBy: api.DecidedByNobody},
	}
}

func fakeStatus() api.Status {
	return api.Status{Node: "n1", Version: "v1.2.3", Channels: 3, Subscriptions: 2,
		Cluster: api.Cluster{ID: strings.Repeat("c1", 16), Nodes: []string{"n1"}, Members: []api.Member{{Name: "n1", State: "alive", Leads: 2}}, Ranges: []api.Range{
			{ID: 0, From: 0, To: 2047, Leader: "n1", Replicas: []string{"n1"}, Term: 2, Applied: 17},
			{ID: 1, From: 2048, To: 4095, Replicas: []string{"n1"}, Term: 2, Applied: 9},
		}},
		Load:      api.Load{PollsPerS: 12.34, BudgetPollsPerInterval: 24000, PlannedPollsPerInterval: 22000.5},
		Detection: api.Detection{PlannedS: 53.21, BoundS: 50},
		Optimiser: api.Optimiser{Policy: "fast", Ladder: "any", Cost: "polls", TargetS: 50, IntervalS: 1800, MaintenanceS: 600,
			Budget: 24000, BudgetAuto: true, Capacity: pointer(22010.4), Planned: 22000.5, Measured: 22212.6, FirstPolls: 2800, LambdaS: 9.02, HostsBound: 3,
			Unmet: api.Unmet{Target: true, Channels: 2}, Solved: At(5), SolveMs: 24.63, Updates: 17},
		Polling: api.Polling{FailingChannels: 1, RestingHosts: 2},
	}
}

// FakeNode answers as a node with the fakes above would.
func FakeNode() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/subscriptions", fakeSubscribe)
	mux.HandleFunc("GET /v1/subscriptions", fakeList)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", fakeUnsubscribe)
	mux.HandleFunc("GET /v1/channels", func(w http.ResponseWriter, _ *http.Request) {
		Respond(w, http.StatusOK, api.Channels{Channels: FakeChannels()})
	})
	mux.HandleFunc("GET /v1/channels/{id}", func(w http.ResponseWriter, r *http.Request) {
		respondOne(w, FakeChannels(), func(c api.Channel) bool { return c.ID.String() == r.PathValue("id") })
	})
	mux.HandleFunc("POST /v1/channels/{action}", fakeForget)
	mux.HandleFunc("GET /v1/channels/{id}/explain", func(w http.ResponseWriter, r *http.Request) {
		respondOne(w, fakeExplanations(), func(e api.Explanation) bool { return e.Channel.String() == r.PathValue("id") })
	})
	mux.HandleFunc("GET /v1/channels/{id}/updates", func(w http.ResponseWriter, r *http.Request) {
		answer := api.Updates{Updates: FakeUpdates(), Gap: &api.Gap{From: 1, To: 40}}
		if r.URL.Query().Get("after") != "0" {
			answer = api.Updates{Updates: []api.Update{}}
		}
		Respond(w, http.StatusOK, answer)
	})
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { Respond(w, http.StatusOK, fakeStatus()) })
	return mux
}

// respondOne answers with the first of all that is meant, or that there is none.
func respondOne[T any](w http.ResponseWriter, all []T, meant func(T) bool) {
	if i := slices.IndexFunc(all, meant); i >= 0 {
		Respond(w, http.StatusOK, all[i])
		return
	}
	Respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such channel"))
}

func fakeSubscribe(w http.ResponseWriter, r *http.Request) {
	var request api.SubscribeRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		Respond(w, http.StatusBadRequest, api.BadField("", err.Error()))
		return
	}
	made := fakeSubscriptions()[0]
	made.URL, made.Channel, made.Sink = request.URL, channel.IDOf(request.URL), request.Sink
	made.Sink.Secret = ""
	Respond(w, http.StatusCreated, made)
}

func fakeUnsubscribe(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.PathValue("id"), "sub_") {
		Respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such subscription"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// fakeList answers with two pages of subscriptions, or with those of a channel.
func fakeList(w http.ResponseWriter, r *http.Request) {
	all := fakeSubscriptions()
	switch query := r.URL.Query(); {
	case query.Get("channel") != "":
		Respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[:1]})
	case query.Get("after") == "":
		Respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[:1], Next: "x"})
	default:
		Respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[1:]})
	}
}

func fakeForget(w http.ResponseWriter, r *http.Request) {
	if !slices.ContainsFunc(FakeChannels(), func(c api.Channel) bool { return c.ID.String()+":forget" == r.PathValue("action") }) {
		Respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such channel"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
