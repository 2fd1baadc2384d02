package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// watchNode is a node whose stream is scripted: one script for each connection.
// When the last has been sent it calls done.
type watchNode struct {
	taken   map[string]bool // canonical URLs that somebody subscribes to
	scripts []string
	done    func()

	mu struct {
		sync.Mutex
		subscribed, unsubscribed []string
		asked                    []string // query and cursor of each connection
		late                     string   // key of the subscription that was made and not answered
	}
}

func (n *watchNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.URL.Path == "/v1/updates":
		n.stream(w, r)
	case r.Method == http.MethodPost:
		var request api.SubscribeRequest
		json.NewDecoder(r.Body).Decode(&request)
		if strings.Contains(request.URL, "refused") {
			clitest.Respond(w, http.StatusBadRequest, api.BadField("url", "not here"))
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if key == "" || key != n.mu.late {
			n.mu.subscribed = append(n.mu.subscribed, request.URL)
		}
		if strings.Contains(request.URL, "late") && n.mu.late == "" {
			n.mu.late = key
			clitest.Respond(w, http.StatusServiceUnavailable, api.NewProblem(http.StatusServiceUnavailable, "not known to be durable"))
			return
		}
		clitest.Respond(w, http.StatusCreated, api.Subscription{ID: fmt.Sprintf("sub_%d", len(n.mu.subscribed))})
	case r.Method == http.MethodDelete:
		n.mu.unsubscribed = append(n.mu.unsubscribed, strings.TrimPrefix(r.URL.Path, "/v1/subscriptions/"))
		w.WriteHeader(http.StatusNoContent)
	default:
		var page api.Subscriptions
		for url := range n.taken {
			if channel.IDOf(url).String() == r.URL.Query().Get("channel") {
				page.Subscriptions = append(page.Subscriptions, api.Subscription{ID: "sub_other"})
			}
		}
		clitest.Respond(w, http.StatusOK, page)
	}
}

func (n *watchNode) stream(w http.ResponseWriter, r *http.Request) {
	n.mu.asked = append(n.mu.asked, r.URL.RawQuery+" "+r.Header.Get("Last-Event-ID"))
	w.Header().Set("Content-Type", "text/event-stream")
	connection := len(n.mu.asked)
	io.WriteString(w, n.scripts[min(connection, len(n.scripts))-1])
	http.NewResponseController(w).Flush()
	if connection >= len(n.scripts) {
		n.mu.Unlock()
		n.done()
		<-r.Context().Done()
		n.mu.Lock()
	}
}

// streamed is the text of an event on the stream.
func streamed(id int, kind string, data any) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", kind, id, text)
}

// runWatch runs watch until what ends it comes, the text on standard output.
func runWatch(t *testing.T, node *watchNode, until string, args ...string) clitest.Outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	node.done = func() {}
	out := &endingWriter{until: until, end: cancel}
	var errs strings.Builder
	root := newRootCommand()
	root.SetOut(out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"watch", "--server", clitest.Serve(t, node)}, args...))
	code := cli.Run(ctx, root)
	return clitest.Outcome{Code: code, Out: out.text.String(), Errs: errs.String()}
}

// endingWriter ends a run once a text was printed.
type endingWriter struct {
	text  strings.Builder
	until string
	end   func()
}

func (w *endingWriter) Write(p []byte) (int, error) {
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.until) {
		w.end()
	}
	return len(p), nil
}

func everyEvent() string {
	return streamed(1, api.StreamUpdate, clitest.FakeUpdates()[0]) +
		streamed(2, api.StreamGap, api.ChannelGap{Channel: channel.IDOf(clitest.PageURL), From: 3, To: 5, Reason: "no longer kept"}) +
		streamed(3, api.StreamGone, api.ChannelGone{Channel: channel.IDOf(clitest.GoneURL), URL: clitest.GoneURL, Reason: "the origin answered 410"}) +
		streamed(4, "a type of a later version", struct{}{}) +
		streamed(5, api.StreamReset, struct{}{}) +
		streamed(6, api.StreamUpdate, clitest.FakeUpdates()[1])
}

func TestWatchPrints(t *testing.T) {
	got := runWatch(t, &watchNode{scripts: []string{everyEvent()}}, "is cut")
	if got.Code != cli.ExitDone || got.Errs != "watching every channel; Ctrl-C ends\n" {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
	clitest.CheckGolden(t, "watch.txt", got.Out)
	got = runWatch(t, &watchNode{scripts: []string{everyEvent()}}, `"version":42`, "--json")
	if got.Code != cli.ExitDone {
		t.Errorf("--json: exit code %d, standard error %s", got.Code, got.Errs)
	}
	clitest.CheckGolden(t, "watch.json", got.Out)
	for line := range strings.Lines(got.Out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a line of JSON: %s", line)
		}
	}
}

// TestWatchSubscribes: watch subscribes to URLs without subscriptions, for as long as it
// runs.
func TestWatchSubscribes(t *testing.T) {
	node := &watchNode{taken: map[string]bool{clitest.PageURL: true}, scripts: []string{everyEvent()}}
	got := runWatch(t, node, "is cut", clitest.FeedURL, clitest.PageURL, "https://BLOG.example", clitest.GoneURL)
	if got.Code != cli.ExitDone || got.Errs != "watching 3 URLs, 2 subscribed to until the end; Ctrl-C ends\n" {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
	if want := []string{clitest.FeedURL, clitest.GoneURL}; !slices.Equal(node.mu.subscribed, want) {
		t.Errorf("subscribed to %v, want %v", node.mu.subscribed, want)
	}
	if want := []string{"sub_1", "sub_2"}; !slices.Equal(node.mu.unsubscribed, want) {
		t.Errorf("unsubscribed %v, want %v", node.mu.unsubscribed, want)
	}
	if want := "channel=" + channel.IDOf(clitest.PageURL).String() + "&subscription=sub_1&subscription=sub_2 "; node.mu.asked[0] != want {
		t.Errorf("asked for %s, want %s", node.mu.asked[0], want)
	}
}

// TestWatchFailsToSubscribe: what was made before the failure is unmade.
func TestWatchFailsToSubscribe(t *testing.T) {
	node := &watchNode{}
	got := runWatch(t, node, "never", clitest.FeedURL, "https://refused.example/")
	if got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, "url: not here") {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
	if !slices.Equal(node.mu.unsubscribed, []string{"sub_1"}) || len(node.mu.asked) != 0 {
		t.Errorf("unsubscribed %v, streams %v", node.mu.unsubscribed, node.mu.asked)
	}
}

// TestWatchUnanswered: a subscription that was made and not answered is unmade.
func TestWatchUnanswered(t *testing.T) {
	node := &watchNode{}
	got := runWatch(t, node, "never", clitest.FeedURL, "https://late.example/")
	if got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, "not known to be durable") {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
	if len(node.mu.subscribed) != 2 || !slices.Equal(node.mu.unsubscribed, []string{"sub_1", "sub_2"}) {
		t.Errorf("subscribed %v, unsubscribed %v", node.mu.subscribed, node.mu.unsubscribed)
	}
}

// TestWatchReconnects: the connection breaks between and inside events; every
// update is printed once.
func TestWatchReconnects(t *testing.T) {
	update := func(version int) string {
		return streamed(version, api.StreamUpdate, api.Update{URL: clitest.FeedURL, Version: uint64(version)})
	}
	half := update(3)[:40]
	node := &watchNode{scripts: []string{update(1) + update(2) + half, "", update(3) + ":\n\n", update(4)}}
	got := runWatch(t, node, `"version":4`, "--json", clitest.FeedURL)
	var versions []uint64
	for line := range strings.Lines(got.Out) {
		var printed api.Update
		if err := json.Unmarshal([]byte(line), &printed); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, printed.Version)
	}
	if got.Code != cli.ExitDone || !slices.Equal(versions, []uint64{1, 2, 3, 4}) {
		t.Errorf("exit code %d, versions %v, standard error %s", got.Code, versions, got.Errs)
	}
	if want := []string{"subscription=sub_1 ", "subscription=sub_1 2", "subscription=sub_1 2", "subscription=sub_1 3"}; !slices.Equal(node.mu.asked, want) {
		t.Errorf("asked %q, want %q", node.mu.asked, want)
	}
	if lost := strings.Count(got.Errs, "connection lost, trying again in"); lost != 3 {
		t.Errorf("%d notes of a lost connection, want 3: %s", lost, got.Errs)
	}
	if !slices.Equal(node.mu.unsubscribed, []string{"sub_1"}) {
		t.Errorf("unsubscribed %v", node.mu.unsubscribed)
	}
}

func TestWatchRefusesWhatItCannotRead(t *testing.T) {
	got := runWatch(t, &watchNode{scripts: []string{"event: update\ndata: {\n\n"}}, "never")
	if got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, `read event "update"`) {
		t.Errorf("exit code %d, standard error %s", got.Code, got.Errs)
	}
}

// closedPipe is standard output whose reader has gone.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestWatchIntoAClosedPipe: "corona watch URL | head" leaves nothing behind.
func TestWatchIntoAClosedPipe(t *testing.T) {
	node := &watchNode{scripts: []string{everyEvent()}, done: func() {}}
	root := newRootCommand()
	root.SetOut(closedPipe{})
	root.SetErr(io.Discard)
	root.SetArgs([]string{"watch", clitest.FeedURL, "--server", clitest.Serve(t, node)})
	if code := cli.Run(t.Context(), root); code != cli.ExitDone || !slices.Equal(node.mu.unsubscribed, []string{"sub_1"}) {
		t.Errorf("exit code %d, unsubscribed %v", code, node.mu.unsubscribed)
	}
}
