package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	exampleTime = time.Date(2026, 11, 20, 9, 30, 15, 250_000_000, time.UTC)
	laterTime   = exampleTime.Add(90 * time.Second)
	exampleID   = channel.IDOf("https://example.com/feed.xml")
)

func exampleEntry() deltas.Entry {
	return deltas.Entry{
		ID: "tag:example.com,2026:1", Title: "A <b>bold</b> title", Link: "https://example.com/1",
		Published: "2026-11-20T09:00:00Z", Updated: "2026-11-20T09:15:00Z", Summary: "What happened & why",
	}
}

func exampleUpdate() Update {
	changed := exampleEntry()
	changed.Fields = []string{"title", "summary"}
	return Update{
		Channel: exampleID, URL: "https://example.com/feed.xml", Version: 7, Previous: 6, DetectedAt: exampleTime, Kind: "feed",
		Entries: deltas.Entries{Added: []deltas.Entry{exampleEntry()}, Changed: []deltas.Entry{changed}, Removed: []deltas.Entry{}},
		Diff:    "@@ -1 +1 @@\n-A title\n+A <b>bold</b> title\n", DeltaBytes: 213, Truncated: true,
		Masked: []deltas.Mask{{What: "number", Text: "48,037 readers", Why: "it changed at two looks in a row, at least 9 times"}},
	}
}

func exampleSubscription() Subscription {
	return Subscription{
		ID: "sub_aaaaq7c2", Channel: exampleID, URL: "https://example.com/feed.xml",
		Sink:    Sink{Type: SinkWebhook, URL: "https://hooks.example.com/corona"},
		Created: exampleTime, FromVersion: 2, State: StateSuspended, DeliveredVersion: 6,
		LastError: "status 500", FailingSince: &laterTime,
	}
}

func exampleExplanation() Explanation {
	return Explanation{
		Channel: exampleID, URL: "https://example.com/feed.xml",
		Policy: "fair-sqrt", Ladder: "geometric:2", Cost: "bytes", IntervalS: 1800, FloorS: 300,
		Rate: 4, PollIntervalS: 450, Width: 1, DecidedBy: DecidedByWorth,
		Factors: Factors{Subscribers: 12, SizeBytes: 34567, UpdateIntervalS: 5400.5, Weight: 6.9, Cost: 34567},
		Least:   RateBound{1, RateByOnce}, Most: RateBound{6, RateByFloor},
		Worth: Worth{LastS: pointer(0.02), NextS: pointer(0.01), NeededS: 0.0125, LambdaS: 0.012},
		Neighbours: Neighbours{
			LastIn:   &Neighbour{Channel: channel.IDOf("https://example.org/"), URL: "https://example.org/", Rate: 2, WorthS: 0.0121},
			FirstOut: &Neighbour{Channel: exampleID, URL: "https://example.com/feed.xml", Rate: 4, WorthS: 0.0119},
		},
		Host:     &PlannedHost{Name: "example.com:443", Planned: 1710, Cap: pointer(1710.0), MuS: 17.5},
		Noise:    []Noise{{What: "number", Text: "… readers", Lines: 2, Why: "it changed at two looks in a row, at least 9 times", CalmS: 43200}},
		Held:     &Held{Since: exampleTime, What: deltas.HoldText("removal")},
		NextPoll: &laterTime, Waiting: &Waiting{For: WaitRetryAfter, Until: &laterTime, Detail: "the origin answered 503"}, Solved: &exampleTime,
	}
}

func exampleOptimiser() Optimiser {
	return Optimiser{
		Policy: "fast", Ladder: "any", Cost: "polls", TargetS: 60, IntervalS: 1800, MaintenanceS: 600,
		Budget: 50000, BudgetAuto: true, Capacity: pointer(48000.0), Planned: 22500, Measured: 22350.5, FirstPolls: 2800,
		LambdaS: 12.5, HostsBound: 3, Unmet: Unmet{Budget: true, Target: true, Channels: 2, Hosts: 1},
		Solved: &exampleTime, SolveMs: 24.6, Updates: 17,
	}
}

func exampleChannel() Channel {
	return Channel{
		ID: exampleID, URL: "https://example.com/feed.xml", Subscribers: 12, Version: 7, Kind: "feed", SizeBytes: 34567,
		UpdateIntervalS: 5400.5, Rate: 2.5, PollIntervalS: 720, Width: 1, Owner: "alder", Pollers: []string{"alder", "birch"},
		LastPoll: &exampleTime, LastChange: &exampleTime, LastStatus: 304, LastError: "timeout", Failures: 2, NextPoll: &laterTime,
		Gone: true, FeedURL: "https://example.com/atom.xml",
		Bounds: []Bound{
			{Source: BoundMaxAge, IntervalS: 86400, Clamped: true, Said: "8760h"},
			{Source: BoundSkipHours, IntervalS: 14400, Said: "0 1 2 3"},
		},
		Waiting:  &Waiting{For: WaitRetryAfter, Until: &laterTime, Detail: "the origin answered 503"},
		Host:     &ChannelHost{Name: "example.com:443", GapS: 1, Parallel: 2, RestingUntil: &laterTime, Scope: ScopeChannel, Refusals: 3},
		FinalURL: "https://www.example.com/feed.xml",
		MovedTo:  "https://www.example.com/feed.xml", MovedSince: &exampleTime, MovedLearned: true,
		SameAs: channel.IDOf("https://www.example.com/feed.xml"),
		Held:   &Held{Since: exampleTime, What: deltas.HoldText("removal")},
	}
}

// goldens are the contract's documents: each type with everything filled in, and
// where fields may be absent, with as little as there can be.
var goldens = map[string]any{
	"subscribe_request":     SubscribeRequest{URL: "https://example.com/feed.xml", Sink: Sink{Type: SinkWebhook, URL: "https://hooks.example.com/corona", Secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}, Key: "import-1"},
	"subscribe_request_sse": SubscribeRequest{URL: "https://example.com/feed.xml", Sink: Sink{Type: SinkSSE}},
	"subscription":          exampleSubscription(),
	"subscription_new":      Subscription{ID: "sub_aaaaq7c2", Channel: exampleID, URL: "https://example.com/feed.xml", Sink: Sink{Type: SinkSSE}, Created: exampleTime, FromVersion: 2, State: StateActive},
	"subscriptions":         Subscriptions{Subscriptions: []Subscription{exampleSubscription()}, Next: "b2Zmc2V0"},
	"subscriptions_end":     Subscriptions{Subscriptions: []Subscription{}},
	"batch_result":          BatchResult{Subscription: pointer(exampleSubscription())},
	"batch_result_again":    BatchResult{Subscription: pointer(exampleSubscription()), Existing: true},
	"batch_result_error":    BatchResult{Error: NewProblem(503, "no majority")},
	"channel":               exampleChannel(),
	"channel_new":           Channel{ID: exampleID, URL: "https://example.com/feed.xml", Subscribers: 1, Owner: "alder", Pollers: []string{}, Bounds: []Bound{}},
	"explanation":           exampleExplanation(),
	"explanation_new":       Explanation{Channel: exampleID, URL: "https://example.com/feed.xml", DecidedBy: DecidedByStart},
	"channels":              Channels{Channels: []Channel{exampleChannel()}, Next: "b2Zmc2V0"},
	"channels_end":          Channels{Channels: []Channel{}},
	"update":                exampleUpdate(),
	"update_text":           Update{Channel: exampleID, URL: "https://example.com/a.txt", Version: 2, Previous: 1, DetectedAt: exampleTime, Kind: "text", Entries: deltas.Entries{Added: []deltas.Entry{}, Changed: []deltas.Entry{}, Removed: []deltas.Entry{}}, Diff: "+line\n", DeltaBytes: 40},
	"updates":               Updates{Updates: []Update{exampleUpdate()}, Gap: &Gap{From: 2, To: 5}},
	"updates_none":          Updates{Updates: []Update{}},
	"message_updated":       Message{Type: MessageUpdated, Timestamp: exampleTime, Data: UpdateData{Subscription: "sub_aaaaq7c2", Update: exampleUpdate()}},
	"message_gap":           Message{Type: MessageGap, Timestamp: exampleTime, Data: ChannelGap{Subscription: "sub_aaaaq7c2", Channel: exampleID, From: 2, To: 5, Reason: "retention"}},
	"message_gone":          Message{Type: MessageGone, Timestamp: exampleTime, Data: ChannelGone{Subscription: "sub_aaaaq7c2", Channel: exampleID, URL: "https://example.com/feed.xml", Reason: "410"}},
	"message_test":          Message{Type: MessageTest, Timestamp: exampleTime, Data: TestData{Subscription: "sub_aaaaq7c2", Channel: exampleID, URL: "https://example.com/feed.xml"}},
	"stream_gap":            ChannelGap{Channel: exampleID, From: 2, To: 5, Reason: "retention"},
	"stream_gone":           ChannelGone{Channel: exampleID, URL: "https://example.com/feed.xml", Reason: "410"},
	"status": Status{
		Node: "alder", Version: "v0.1.0",
		Cluster: Cluster{ID: "0123456789abcdef0123456789abcdef", Nodes: []string{"alder"}, Members: []Member{{Name: "alder", Address: "127.0.0.1:8520", State: "alive", Leads: 1}}, Ranges: []Range{{ID: 3, From: 768, To: 1023, Leader: "alder", Replicas: []string{"alder"}, Term: 2, Applied: 4711}}},
		Load:    Load{PollsPerS: 12.5, BudgetPollsPerInterval: 50000, PlannedPollsPerInterval: 22500}, Detection: Detection{PlannedS: 41.2, BoundS: 40.9},
		Optimiser: exampleOptimiser(), Polling: Polling{FailingChannels: 7, RestingHosts: 2},
		Channels: 22500, Subscriptions: 50000, Disk: Disk{State: "low", FreeBytes: 1 << 30, ReserveBytes: 2 << 30},
	},
	"problem":       &Problem{Type: ProblemType, Title: "Bad Request", Status: 400, Detail: "missing", Field: "sink.url"},
	"problem_retry": NewProblem(503, "no majority"),
}

func pointer[T any](v T) *T { return &v }

// TestGolden holds the bytes that users see, and that they read back as what was
// written. With -update it rewrites them: then the changelog has a line too.
func TestGolden(t *testing.T) {
	for name, value := range goldens {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(value, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("have\n%swant\n%s", got, want)
			}
			checkReadsBack(t, value, want)
		})
	}
}

// checkReadsBack reads a document into its type, with no field left over.
func checkReadsBack(t *testing.T, value any, document []byte) {
	t.Helper()
	back := reflect.New(reflect.TypeOf(value))
	if message, ok := value.(Message); ok { // whose data is of the type that its type says
		message.Data = reflect.New(reflect.TypeOf(message.Data)).Interface()
		back.Elem().Set(reflect.ValueOf(message))
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(back.Interface()); err != nil {
		t.Fatal(err)
	}
	if message, ok := back.Elem().Interface().(Message); ok {
		message.Data = reflect.ValueOf(message.Data).Elem().Interface()
		back.Elem().Set(reflect.ValueOf(message))
	}
	if !reflect.DeepEqual(back.Elem().Interface(), value) {
		t.Errorf("read back as %+v", back.Elem())
	}
}

// TestGoldenFiles: a file that no value writes holds nothing.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := goldens[strings.TrimSuffix(filepath.Base(file), ".json")]; !ok {
			t.Errorf("%s belongs to no value", file)
		}
	}
}

func TestProblem(t *testing.T) {
	for status, retryable := range map[int]bool{400: false, 401: false, 404: false, 408: true, 409: false, 413: false, 429: true, 500: false, 502: true, 503: true, 504: true, 507: true} {
		if p := NewProblem(status, "x"); p.Retryable != retryable || p.Title == "" || p.Type != ProblemType {
			t.Errorf("%d: %+v", status, p)
		}
	}
	if got := BadField("sink.url", "missing").Error(); got != "Bad Request: sink.url: missing" {
		t.Errorf("error %q", got)
	}
	if got := NewProblem(404, "").Error(); got != "Not Found" {
		t.Errorf("error %q", got)
	}
}
