package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/server"
)

func nodeWithChannels(n int) *fakeNode {
	node := &fakeNode{}
	for i := range n {
		node.addChannel(fmt.Sprintf("https://example.com/%d", i))
	}
	return node
}

// Every channel comes exactly once and in order, whatever the page size, and
// next is absent on the last page alone.
func TestListChannels(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		node := nodeWithChannels(rapid.IntRange(0, 40).Draw(r, "channels"))
		limit := rapid.IntRange(1, 15).Draw(r, "limit")
		s, _ := newServer(t, node, server.Config{})
		var got []string
		for after := ""; ; {
			target := fmt.Sprintf("/v1/channels?limit=%d&after=%s", limit, after)
			page := read[api.Channels](t, serve(s, request("GET", target, "")), http.StatusOK)
			if len(page.Channels) > limit || (page.Next != "") != (len(got)+len(page.Channels) < len(node.channels)) {
				r.Fatalf("page of %d behind %d of %d, next %q", len(page.Channels), len(got), len(node.channels), page.Next)
			}
			for _, one := range page.Channels {
				got = append(got, one.ID.String())
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(got)) != len(node.channels) {
			r.Fatalf("%d of %d channels, sorted %v", len(got), len(node.channels), slices.IsSorted(got))
		}
	})
}

// A cursor that the server did not make is refused or names a place, never more.
func FuzzChannelCursor(f *testing.F) {
	node := nodeWithChannels(3)
	s, _ := newServer(f, node, server.Config{})
	var page api.Channels
	if err := json.Unmarshal(serve(s, request("GET", "/v1/channels?limit=1", "")).Body.Bytes(), &page); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{page.Next, "", "AA", "!", strings.Repeat("A", 28), page.Next + "A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, after string) {
		w := serve(s, request("GET", "/v1/channels?after="+url.QueryEscape(after), ""))
		if w.Code != http.StatusOK {
			wantProblem(t, w, http.StatusBadRequest, "after", "")
		} else if page := read[api.Channels](t, w, http.StatusOK); len(page.Channels) > 3 {
			t.Errorf("%d channels", len(page.Channels))
		}
	})
}

func TestChannel(t *testing.T) {
	node := nodeWithChannels(1)
	s, _ := newServer(t, node, server.Config{})
	id := node.channels[0].ID.String()
	for _, target := range []string{"/v1/channels/" + id, "/v1/channels/" + strings.ToUpper(id)} {
		w := serve(s, request("GET", target, ""))
		if !strings.Contains(w.Body.String(), `"pollers":[]`) {
			t.Errorf("a list is null: %s", w.Body)
		}
		if got := read[api.Channel](t, w, http.StatusOK); got.URL != "https://example.com/0" {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

func TestExplain(t *testing.T) {
	node := nodeWithChannels(1)
	s, _ := newServer(t, node, server.Config{})
	path := "/v1/channels/" + node.channels[0].ID.String() + "/explain"
	if got := read[api.Explanation](t, serve(s, request("GET", path, "")), http.StatusOK); got.URL != "https://example.com/0" {
		t.Errorf("%+v", got)
	}
	wantProblem(t, serve(s, request("GET", path+"?x=1", "")), http.StatusBadRequest, "x", "")
	wantProblem(t, serve(s, request("GET", "/v1/channels/abc/explain", "")), http.StatusBadRequest, "id", "")
	unknown := channel.IDOf("https://example.com/1").String()
	wantProblem(t, serve(s, request("GET", "/v1/channels/"+unknown+"/explain", "")), http.StatusNotFound, "", "")
}

// Forgetting is for a channel that is there, once or again, and for POST alone.
func TestForget(t *testing.T) {
	node := nodeWithChannels(1)
	s, _ := newServer(t, node, server.Config{})
	id := node.channels[0].ID
	path := "/v1/channels/" + id.String()
	for range 2 {
		if w := serve(s, request("POST", path+":forget", "")); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
	if !slices.Equal(node.forgotten, []channel.ID{id, id}) {
		t.Errorf("forgotten %v", node.forgotten)
	}
	wantProblem(t, serve(s, request("POST", path+":forget?x=1", "")), http.StatusBadRequest, "x", "")
	wantProblem(t, serve(s, request("POST", "/v1/channels/abc:forget", "")), http.StatusBadRequest, "id", "")
	wantProblem(t, serve(s, request("POST", "/v1/channels/:forget", "")), http.StatusBadRequest, "id", "")
	unknown := channel.IDOf("https://example.com/1").String()
	wantProblem(t, serve(s, request("POST", "/v1/channels/"+unknown+":forget", "")), http.StatusNotFound, "", "")
	wantProblem(t, serve(s, request("GET", path+":forget", "")), http.StatusBadRequest, "id", "")
	w := serve(s, request("POST", path, ""))
	if got := w.Header().Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow %q", got)
	}
	wantProblem(t, w, http.StatusMethodNotAllowed, "", "POST")
	node.failure = api.NewProblem(http.StatusServiceUnavailable, "no majority")
	wantProblem(t, serve(s, request("POST", path+":forget", "")), http.StatusServiceUnavailable, "", "no majority")
	if len(node.forgotten) != 2 {
		t.Errorf("forgotten %v", node.forgotten)
	}
}

// A URL in any spelling finds its channel; one without subscriptions finds
// none, which is no error.
func TestFindChannel(t *testing.T) {
	s, _ := newServer(t, nodeWithChannels(2), server.Config{})
	for _, raw := range []string{"https://example.com/1", "HTTPS://EXAMPLE.com:443/x/../%31#top"} {
		page := read[api.Channels](t, serve(s, request("GET", "/v1/channels?url="+url.QueryEscape(raw), "")), http.StatusOK)
		if len(page.Channels) != 1 || page.Channels[0].URL != "https://example.com/1" || page.Next != "" {
			t.Errorf("%s: %+v", raw, page)
		}
	}
	w := serve(s, request("GET", "/v1/channels?url=https://example.com/9", ""))
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != `{"channels":[]}` {
		t.Errorf("unknown: status %d, %s", w.Code, got)
	}
}

func nodeWithUpdates(n int) *fakeNode {
	node := nodeWithChannels(1)
	for i := range n {
		node.updates = append(node.updates, api.Update{Channel: node.channels[0].ID, Version: uint64(i + 2), Previous: uint64(i + 1), Diff: "+<b>&"})
	}
	return node
}

func TestChannelUpdates(t *testing.T) {
	const kept = 100
	tests := []struct {
		query               string
		first, count, calls int
	}{
		{"", 2, 100, 7},
		{"?limit=1000", 2, 100, 7},
		{"?limit=1", 2, 1, 1},
		{"?limit=16", 2, 16, 1},
		{"?limit=17", 2, 17, 2},
		{"?after=60", 61, 41, 3},
		{"?after=97&limit=10", 98, 4, 1},
		{"?after=101", 0, 0, 1},
		{"?after=18446744073709551615", 0, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			node := nodeWithUpdates(kept)
			s, _ := newServer(t, node, server.Config{})
			w := serve(s, request("GET", "/v1/channels/"+node.channels[0].ID.String()+"/updates"+test.query, ""))
			if !strings.Contains(w.Body.String(), `{"updates":[`) {
				t.Errorf("a list is null: %s", w.Body)
			}
			answer := read[api.Updates](t, w, http.StatusOK)
			if len(answer.Updates) != test.count || answer.Gap != nil {
				t.Fatalf("%d updates, want %d; gap %v", len(answer.Updates), test.count, answer.Gap)
			}
			for i, update := range answer.Updates {
				if update.Version != uint64(test.first+i) {
					t.Fatalf("update %d has version %d", i, update.Version)
				}
			}
			if node.calls != test.calls {
				t.Errorf("%d calls of the node, want %d: no more than a step is to be in memory", node.calls, test.calls)
			}
		})
	}
}

func TestUpdatesGap(t *testing.T) {
	node := nodeWithUpdates(40)
	node.gap = &api.Gap{From: 2, To: 11}
	node.updates = node.updates[10:]
	s, _ := newServer(t, node, server.Config{})
	answer := read[api.Updates](t, serve(s, request("GET", "/v1/channels/"+node.channels[0].ID.String()+"/updates", "")), http.StatusOK)
	if len(answer.Updates) != 30 || answer.Gap == nil || *answer.Gap != *node.gap {
		t.Errorf("%d updates, gap %v", len(answer.Updates), answer.Gap)
	}
}

// trimmedUpdates loses its oldest updates while they are being read.
type trimmedUpdates struct{ *fakeNode }

func (n *trimmedUpdates) Updates(ctx context.Context, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	answer, err := n.fakeNode.Updates(ctx, id, after, limit)
	if after > 0 {
		answer.Gap = &api.Gap{From: after + 1, To: after + 1}
		answer.Updates = answer.Updates[1:]
	}
	return answer, err
}

// A gap that opens on the way ends the answer before it: its updates have no
// holes, and whoever goes on behind them is told of the gap.
func TestUpdatesGapOnTheWay(t *testing.T) {
	node := nodeWithUpdates(40)
	s, _ := newServer(t, &trimmedUpdates{node}, server.Config{})
	target := "/v1/channels/" + node.channels[0].ID.String() + "/updates"
	answer := read[api.Updates](t, serve(s, request("GET", target, "")), http.StatusOK)
	if len(answer.Updates) != 16 || answer.Gap != nil {
		t.Errorf("%d updates, gap %v", len(answer.Updates), answer.Gap)
	}
	rest := read[api.Updates](t, serve(s, request("GET", target+"?after=17", "")), http.StatusOK)
	if rest.Gap == nil || *rest.Gap != (api.Gap{From: 18, To: 18}) || rest.Updates[0].Version != 19 {
		t.Errorf("gap %v, first %d", rest.Gap, rest.Updates[0].Version)
	}
}

// An answer that fails on the way is cut, so that it cannot be taken for whole.
func TestUpdatesCutShort(t *testing.T) {
	node := nodeWithUpdates(40)
	failing := &failingUpdates{fakeNode: node, good: 2}
	s, registry := newServer(t, failing, server.Config{})
	w := httptest.NewRecorder()
	cause := func() (cause any) {
		defer func() { cause = recover() }()
		s.ServeHTTP(w, request("GET", "/v1/channels/"+node.channels[0].ID.String()+"/updates", ""))
		return nil
	}()
	if cause != http.ErrAbortHandler {
		t.Errorf("handler ended with %v", cause)
	}
	if json.Valid(w.Body.Bytes()) {
		t.Errorf("what was cut is valid JSON")
	}
	if got := counted(t, registry, "corona_http_panics_total"); got != 0 {
		t.Errorf("%v panics counted", got)
	}
}

// failingUpdates fails after some calls of Updates.
type failingUpdates struct {
	*fakeNode
	good int
}

func (f *failingUpdates) Updates(ctx context.Context, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	if f.good--; f.good < 0 {
		return nil, api.NewProblem(http.StatusServiceUnavailable, "no leader")
	}
	return f.fakeNode.Updates(ctx, id, after, limit)
}
