package sink

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

// What an update of the origin's documents says is which revisions it adds, whatever the
// format is.
func TestRevisionsOfUpdates(t *testing.T) {
	content := loadgen.Content{Schedule: loadgen.Schedule{Seed: 4}}
	seen := make(map[loadgen.Format]bool)
	for channel := range 60 {
		extract := func(revision int64) *deltas.Core {
			core, err := deltas.Extract(deltas.Document{Body: content.AppendDocument(nil, channel, revision), ContentType: content.Format(channel).ContentType(), URL: "http://127.0.0.1/"})
			if err != nil {
				t.Fatal(err)
			}
			return core
		}
		compared := deltas.Compare(extract(5), extract(8))
		text, err := json.Marshal(api.Update{Kind: compared.Kind.String(), Entries: compared.Entries, Diff: compared.Diff})
		if err != nil {
			t.Fatal(err)
		}
		var u update
		if err := json.Unmarshal(text, &u); err != nil {
			t.Fatal(err)
		}
		got := u.arrival(time.Now()).Revisions
		slices.Sort(got)
		for _, want := range []int64{6, 7, 8} {
			if !slices.Contains(got, want) {
				t.Errorf("channel %d (%s): revisions %v, want 6, 7 and 8", channel, content.Format(channel), got)
			}
		}
		if slices.Max(got) > 8 {
			t.Errorf("channel %d (%s): revisions %v, of which some are to come", channel, content.Format(channel), got)
		}
		seen[content.Format(channel)] = true
	}
	if len(seen) != 4 {
		t.Errorf("formats %v", seen)
	}
}

func TestWebhooks(t *testing.T) {
	var mu sync.Mutex
	known, got := map[string]bool{"sub_1": true}, map[string][]Arrival{}
	arrive := func(id string, a Arrival) bool {
		mu.Lock()
		defer mu.Unlock()
		if known[id] {
			got[id] = append(got[id], a)
		}
		return known[id]
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, err := NewWebhooks(ctx, "127.0.0.1:0", []Manner{Acknowledges, Fails, Hangs}, arrive)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx) }()
	post := func(endpoint int, body string) int {
		client := http.Client{Timeout: 200 * time.Millisecond}
		defer client.CloseIdleConnections()
		response, err := client.Post(w.URL(endpoint), "application/json", strings.NewReader(body))
		if err != nil {
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	updated := func(id string) string {
		return `{"type":"channel.updated","data":{"subscription":"` + id + `","channel":"x","version":7,"kind":"feed","entries":{"added":[{"link":"https://site-1.example/posts/1002"}]}}}`
	}
	for _, test := range []struct {
		endpoint int
		body     string
		want     int
	}{
		{0, updated("sub_1"), 200}, {0, updated("sub_2"), 200}, {0, "nonsense", 200}, {0, `{"type":"channel.gap","data":{}}`, 200},
		{1, updated("sub_1"), 500}, {2, updated("sub_1"), 0}, {3, updated("sub_1"), 404},
	} {
		if status := post(test.endpoint, test.body); status != test.want {
			t.Errorf("endpoint %d: status %d, want %d", test.endpoint, status, test.want)
		}
	}
	mu.Lock()
	known["sub_2"] = true
	mu.Unlock()
	w.Known("sub_2")
	for _, id := range []string{"sub_1", "sub_2"} {
		if a := got[id]; len(a) != 1 || a[0].Version != 7 || !slices.Equal(a[0].Revisions, []int64{3}) {
			t.Errorf("%s got %+v", id, a)
		}
	}
	if w.Gaps.Load() != 1 || w.Unreadable.Load() != 1 {
		t.Errorf("%d gaps, %d unreadable", w.Gaps.Load(), w.Unreadable.Load())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
