package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// updateGolden rewrites the files of testdata/golden: go test ./cmd/corona -update-golden
var updateGolden = flag.Bool("update-golden", false, "write what the commands print to testdata/golden")

// TestMain takes away the settings of whoever runs the tests. With [asProgram] the
// binary is the program: for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	flag.Parse()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// outcome is what a run of the program left.
type outcome struct {
	code      int
	out, errs string
}

// runCorona runs the program as main does.
func runCorona(ctx context.Context, stdin string, args ...string) outcome {
	var out bytes.Buffer
	got := runBetween(ctx, strings.NewReader(stdin), &out, args...)
	got.out = out.String()
	return got
}

// runBetween is runCorona between an input and an output of the test's own.
func runBetween(ctx context.Context, in io.Reader, out io.Writer, args ...string) outcome {
	var errs bytes.Buffer
	root := newRootCommand()
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(&errs)
	root.SetArgs(args)
	return outcome{code: run(ctx, root), errs: errs.String()}
}

// checkGolden compares text with testdata/golden/name.
func checkGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("printed\n%s\nwant, as in %s,\n%s", text, path, want)
	}
}

// serveFake returns the URL of a server that lives as long as the test.
func serveFake(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// respond answers with JSON.
func respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

const (
	feedURL = "https://blog.example/feed.xml"
	pageURL = "https://blog.example/"
	goneURL = "https://gone.example/"
	busyURL = "http://busy.example:8080/feed"
)

func moment(second int) time.Time { return time.Date(2026, 11, 20, 9, 35, second, 0, time.UTC) }

func at(second int) *time.Time { t := moment(second); return &t }

// fakeSubscriptions are one in each state.
func fakeSubscriptions() []api.Subscription {
	return []api.Subscription{
		{ID: "sub_aaaa", Channel: channel.IDOf(feedURL), URL: feedURL, Sink: api.Sink{Type: api.SinkSSE},
			Created: moment(0), FromVersion: 2, State: api.StateActive},
		{ID: "sub_bbbb", Channel: channel.IDOf(pageURL), URL: pageURL, Sink: api.Sink{Type: api.SinkWebhook, URL: "https://hook.example/"},
			Created: moment(1), FromVersion: 3, State: api.StateSuspended, DeliveredVersion: 7, LastError: "status 500", FailingSince: at(2)},
	}
}

// fakeChannels are a feed with much to say, a page that does not answer, one that
// is gone, and one whose host has had enough.
func fakeChannels() []api.Channel {
	return []api.Channel{
		{ID: channel.IDOf(feedURL), URL: feedURL, Subscribers: 12, Version: 42, Kind: "feed", SizeBytes: 45123, UpdateIntervalS: 5400, Rate: 6, PollIntervalS: 300, Width: 1,
			Owner: "n1", Pollers: []string{"n1"}, LastPoll: at(3), LastChange: at(3), LastStatus: 200, NextPoll: at(33),
			Bounds: []api.Bound{
				{Source: api.BoundMaxAge, IntervalS: 86400, Clamped: true, Said: "8760h"},
				{Source: api.BoundTTL, IntervalS: 5400, Said: "1h30m"},
				{Source: api.BoundSkipHours, IntervalS: 10800, Said: "0 1 2\x1b[2J"},
			},
			Waiting:  &api.Waiting{For: api.WaitFreshness, Until: at(33)},
			Host:     &api.ChannelHost{Name: "feeds.example:443", GapS: 1, Parallel: 2},
			FinalURL: "https://feeds.example/blog", MovedTo: "https://feeds.example/", MovedSince: at(1), SameAs: channel.IDOf("https://feeds.example/blog"),
			Held: fakeHeld()},
		{ID: channel.IDOf(pageURL), URL: pageURL, Subscribers: 1, Rate: 1. / 48, PollIntervalS: 86400, Width: 1, Owner: "n1", Pollers: []string{"n1"}, Bounds: []api.Bound{},
			LastPoll: at(4), LastError: "connect: connection refused", Failures: 3, NextPoll: at(44), UpdateIntervalS: 604800,
			Waiting: &api.Waiting{For: api.WaitFailures, Until: at(44)}, Host: &api.ChannelHost{Name: "blog.example:443", Parallel: 2},
			FinalURL: "https://www.blog.example/", MovedTo: "https://www.blog.example/", MovedSince: at(1), MovedLearned: true},
		{ID: channel.IDOf(goneURL), URL: goneURL, Version: 1, Kind: "html", Owner: "n1", Pollers: []string{}, Bounds: []api.Bound{},
			UpdateIntervalS: 604800, Gone: true},
		{ID: channel.IDOf(busyURL), URL: busyURL, Subscribers: 1, Rate: 1, Width: 1, Owner: "n1", Pollers: []string{"n1"}, Bounds: []api.Bound{}, NextPoll: at(50),
			Waiting: &api.Waiting{For: api.WaitHost, Until: at(49), Detail: "429 Too Many Requests"},
			Host:    &api.ChannelHost{Name: "busy.example:8080", GapS: 2.5, Parallel: 1, RestingUntil: at(49), Scope: api.ScopeHost, Refusals: 2}},
	}
}

// fakeUpdates are an update of a feed with everything in it, hostile text too,
// and one of a page.
func fakeUpdates() []api.Update {
	return []api.Update{
		{Channel: channel.IDOf(feedURL), URL: feedURL, Version: 41, Previous: 40, DetectedAt: moment(6), Kind: "feed", DeltaBytes: 321,
			Entries: deltas.Entries{
				Added:   []deltas.Entry{{ID: "1", Title: "Announcing \x1b[2J\u202e1.99", Link: "https://blog.example/1"}},
				Changed: []deltas.Entry{{ID: "2", Title: "Second", Fields: []string{"title", "summary"}}},
				Removed: []deltas.Entry{{ID: "tag:3"}},
			},
			Diff: "@@ -1,2 +1,2 @@\n-title First\n+title Second\x07\n"},
		{Channel: channel.IDOf(feedURL), URL: feedURL, Version: 42, Previous: 41, DetectedAt: moment(7), Kind: "html", Truncated: true,
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

// fakeExplanations are of fakeChannels: one that the budget decides about, one with
// less than a poll per interval, by bytes, one whose host is full, one that is gone.
func fakeExplanations() []api.Explanation {
	neighbours := api.Neighbours{
		LastIn:   &api.Neighbour{Channel: channel.IDOf(busyURL), URL: busyURL, Rate: 2, WorthS: 9.1},
		FirstOut: &api.Neighbour{Channel: channel.IDOf(feedURL), URL: feedURL, Rate: 6, WorthS: 9.02},
	}
	host := api.PlannedHost{Name: "busy.example:8080", Planned: 1710, Cap: pointer(1710.), MuS: 17.5}
	return []api.Explanation{
		{Channel: channel.IDOf(feedURL), URL: feedURL, Policy: "lite", Ladder: "any", Cost: "polls", IntervalS: 1800, FloorS: 60,
			Rate: 6, PollIntervalS: 300, Width: 1, DecidedBy: api.DecidedByWorth,
			Factors: api.Factors{Subscribers: 12, SizeBytes: 45123, UpdateIntervalS: 5400.4, Weight: 12, Cost: 1},
			Least:   api.RateBound{Rate: 1, By: api.RateByOnce}, Most: api.RateBound{Rate: 30, By: api.RateByFloor},
			Worth: api.Worth{LastS: pointer(12.3), NextS: pointer(9.02), NeededS: 9.1, LambdaS: 9.1}, Neighbours: neighbours,
			Noise: []api.Noise{{What: "number", Text: "… readers", Lines: 2, Why: "it changed at two looks in a row, at least 9 times", CalmS: 43200}},
			Held:  fakeHeld(),
			Host:  &api.PlannedHost{Name: "feeds.example:443", Planned: 300}, NextPoll: at(33), Waiting: &api.Waiting{For: api.WaitFreshness, Until: at(33)}, Solved: at(5)},
		{Channel: channel.IDOf(pageURL), URL: pageURL, Policy: "fair", Ladder: "any", Cost: "bytes", IntervalS: 1800, FloorS: 300,
			Rate: 1. / 48, PollIntervalS: 86400, Width: 1, DecidedBy: api.RateByBudget,
			Factors: api.Factors{Subscribers: 1, SizeBytes: 20000, UpdateIntervalS: 604800, Weight: 0.00297, Cost: 20000},
			Least:   api.RateBound{Rate: 1. / 48, By: api.RateByBudget}, Most: api.RateBound{Rate: 6, By: api.RateByFloor},
			Worth: api.Worth{NextS: pointer(0.001), NeededS: 2.5, LambdaS: 2.5}, NextPoll: at(44), Solved: at(5)},
		{Channel: channel.IDOf(busyURL), URL: busyURL, Policy: "lite", Ladder: "any", Cost: "polls", IntervalS: 1800, FloorS: 300,
			Rate: 1, PollIntervalS: 1800, Width: 1, DecidedBy: api.RateByHost,
			Factors: api.Factors{Subscribers: 1, UpdateIntervalS: 600, Weight: 1, Cost: 1},
			Least:   api.RateBound{Rate: 1, By: api.RateByOnce}, Most: api.RateBound{Rate: 1, By: api.RateByHost},
			Worth: api.Worth{NeededS: 26.6, LambdaS: 9.1}, Neighbours: neighbours, Host: &host, NextPoll: at(50), Solved: at(5)},
		{Channel: channel.IDOf(goneURL), URL: goneURL, DecidedBy: api.DecidedByNobody},
	}
}

func fakeStatus() api.Status {
	return api.Status{Node: "n1", Version: "v1.2.3", Channels: 3, Subscriptions: 2,
		Cluster: api.Cluster{Nodes: []string{"n1"}, Ranges: []api.Range{
			{ID: 0, From: 0, To: 2047, Leader: "n1", Replicas: []string{"n1"}, Term: 2, Applied: 17},
			{ID: 1, From: 2048, To: 4095, Replicas: []string{"n1"}, Term: 2, Applied: 9},
		}},
		Load:      api.Load{PollsPerS: 12.34, BudgetPollsPerInterval: 24000, PlannedPollsPerInterval: 22000.5},
		Detection: api.Detection{PlannedS: 53.21, BoundS: 50},
		Optimiser: api.Optimiser{Policy: "fast", Ladder: "any", Cost: "polls", TargetS: 50, IntervalS: 1800, MaintenanceS: 600,
			Budget: 24000, BudgetAuto: true, Capacity: pointer(22010.4), Planned: 22000.5, Measured: 22212.6, FirstPolls: 2800, LambdaS: 9.02, HostsBound: 3,
			Unmet: api.Unmet{Target: true, Channels: 2}, Solved: at(5), SolveMs: 24.63, Updates: 17},
		Polling: api.Polling{FailingChannels: 1, RestingHosts: 2},
	}
}

// fakeNode answers as a node with the fakes above would.
func fakeNode() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/subscriptions", func(w http.ResponseWriter, r *http.Request) {
		var request api.SubscribeRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			respond(w, http.StatusBadRequest, api.BadField("", err.Error()))
			return
		}
		made := fakeSubscriptions()[0]
		made.URL, made.Channel, made.Sink = request.URL, channel.IDOf(request.URL), request.Sink
		made.Sink.Secret = ""
		respond(w, http.StatusCreated, made)
	})
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.PathValue("id"), "sub_") {
			respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such subscription"))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/channels/{action}", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range fakeChannels() {
			if c.ID.String()+":forget" == r.PathValue("action") {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such channel"))
	})
	mux.HandleFunc("GET /v1/subscriptions", func(w http.ResponseWriter, r *http.Request) {
		all := fakeSubscriptions()
		if of := r.URL.Query().Get("channel"); of != "" {
			respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[:1]})
			return
		}
		if r.URL.Query().Get("after") == "" {
			respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[:1], Next: "x"})
			return
		}
		respond(w, http.StatusOK, api.Subscriptions{Subscriptions: all[1:]})
	})
	mux.HandleFunc("GET /v1/channels", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, api.Channels{Channels: fakeChannels()})
	})
	mux.HandleFunc("GET /v1/channels/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range fakeChannels() {
			if c.ID.String() == r.PathValue("id") {
				respond(w, http.StatusOK, c)
				return
			}
		}
		respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such channel"))
	})
	mux.HandleFunc("GET /v1/channels/{id}/explain", func(w http.ResponseWriter, r *http.Request) {
		for _, e := range fakeExplanations() {
			if e.Channel.String() == r.PathValue("id") {
				respond(w, http.StatusOK, e)
				return
			}
		}
		respond(w, http.StatusNotFound, api.NewProblem(http.StatusNotFound, "no such channel"))
	})
	mux.HandleFunc("GET /v1/channels/{id}/updates", func(w http.ResponseWriter, r *http.Request) {
		answer := api.Updates{Updates: fakeUpdates(), Gap: &api.Gap{From: 1, To: 40}}
		if r.URL.Query().Get("after") != "0" {
			answer = api.Updates{Updates: []api.Update{}}
		}
		respond(w, http.StatusOK, answer)
	})
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, fakeStatus()) })
	return mux
}
