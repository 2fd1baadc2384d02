package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// startNode runs corona serve on a new data directory until the test ends, and
// returns the URL of the node.
func startNode(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	in, out := io.Pipe()
	ended := make(chan clitest.Outcome, 1)
	data := t.TempDir()
	go func() {
		got := runBetween(ctx, strings.NewReader(""), out, "serve", "--data", data, "--listen", "127.0.0.1:0", "--allow-private",
			"--disk-reserve", "4194304", "--log-level", "error")
		out.Close()
		ended <- got
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	t.Cleanup(func() {
		stop()
		in.Close()
		if got := <-ended; got.Code != cli.ExitDone {
			t.Errorf("the node ended with %+v", got)
		}
	})
	_, rest, found := strings.Cut(line, "http://")
	address, _, _ := strings.Cut(rest, "/")
	if err != nil || !found {
		t.Fatalf("the node said %q, %v", line, err)
	}
	return "http://" + address
}

// startOrigin serves one text under any path.
func startOrigin(t *testing.T) string {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintln(w, "text")
	}))
	t.Cleanup(origin.Close)
	return origin.URL
}

// subscribedURLs returns the URLs of all subscriptions of a node, sorted.
func subscribedURLs(t *testing.T, server string) (urls []string) {
	t.Helper()
	client, err := api.NewClient(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for subscription, err := range client.Subscriptions(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, subscription.URL+" "+subscription.Sink.Type)
	}
	slices.Sort(urls)
	return urls
}

// TestImportAfterUnsubscribe: after an import every URL of the list is subscribed,
// whatever was subscribed or unsubscribed before, and has one subscription of the
// sink.
func TestImportAfterUnsubscribe(t *testing.T) {
	server, origin := startNode(t), startOrigin(t)
	run := func(stdin string, args ...string) string {
		t.Helper()
		got := runCorona(t.Context(), stdin, append(args, "--server", server)...)
		if got.Code != cli.ExitDone {
			t.Fatalf("%v: %+v", args, got)
		}
		return got.Out
	}
	list := origin + "/a\n" + origin + "/b\n"
	imports := func(list, want string, args ...string) {
		t.Helper()
		if got := run(list, append([]string{"import", "-"}, args...)...); got != "standard input: "+want+"\n" {
			t.Errorf("import printed %q, want %q", got, want)
		}
	}
	var made api.Subscription // without a key
	if err := json.Unmarshal([]byte(run("", "subscribe", origin+"/a", "--wait", "0", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	imports(list, "2 subscribed (1 of them before), 0 refused")
	imports(list, "2 subscribed (2 of them before), 0 refused")
	run("", "unsubscribe", made.ID)
	imports(list+origin+"/a\n", "3 subscribed (2 of them before), 0 refused")
	imports(list, "2 subscribed, 0 refused", "--sink", "webhook:"+origin+"/hook")
	imports(list, "2 subscribed (2 of them before), 0 refused", "--sink", "webhook:"+origin+"/hook")
	client, err := api.NewClient(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var ids []string
	for subscription := range client.Subscriptions(t.Context(), nil) {
		ids = append(ids, subscription.ID)
	}
	run("", append([]string{"unsubscribe"}, ids...)...) // those that imports made, too
	imports(list, "2 subscribed, 0 refused")
	if got, want := subscribedURLs(t, server), []string{origin + "/a sse", origin + "/b sse"}; !slices.Equal(got, want) {
		t.Errorf("subscribed %v, want %v", got, want)
	}
}

// TestSubscribeAfterDelete: a key whose subscription was deleted is answered with
// that, in words and an exit code that no script takes for a subscription.
func TestSubscribeAfterDelete(t *testing.T) {
	server, origin := startNode(t), startOrigin(t)
	subscribe := func(args ...string) clitest.Outcome {
		return runCorona(t.Context(), "", append([]string{"subscribe", origin + "/a", "--server", server, "--key", "k", "--wait", "0"}, args...)...)
	}
	var made, again api.Subscription
	if got := subscribe("--json"); got.Code != cli.ExitDone || json.Unmarshal([]byte(got.Out), &made) != nil {
		t.Fatalf("%+v", got)
	}
	if got := subscribe("--json"); got.Code != cli.ExitDone || json.Unmarshal([]byte(got.Out), &again) != nil || again != made {
		t.Errorf("the same key again: %+v, want %+v", got, made)
	}
	if got := runCorona(t.Context(), "", "unsubscribe", made.ID, "--server", server); got.Code != cli.ExitDone {
		t.Fatalf("%+v", got)
	}
	got := subscribe()
	if got.Code != cli.ExitNo || strings.Contains(got.Out, "subscribed") || !strings.Contains(got.Errs, made.ID+", which has been deleted") {
		t.Errorf("after unsubscribe: %+v", got)
	}
	got = subscribe("--json")
	if err := json.Unmarshal([]byte(got.Out), &again); err != nil || got.Code != cli.ExitNo || again.ID != made.ID || again.State != "deleted" {
		t.Errorf("after unsubscribe, for programs: %+v, %v", got, err)
	}
	if got := subscribedURLs(t, server); len(got) != 0 {
		t.Errorf("subscribed %v, want nothing", got)
	}
}

// TestBatchAfterDelete: lines say the same of a deleted subscription as a single
// request does.
func TestBatchAfterDelete(t *testing.T) {
	server, origin := startNode(t), startOrigin(t)
	client, err := api.NewClient(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := api.SubscribeRequest{URL: origin + "/a", Sink: api.Sink{Type: api.SinkSSE}, Key: "k"}
	batch := func() api.BatchResult {
		t.Helper()
		for result, err := range client.Batch(t.Context(), slices.Values([]api.SubscribeRequest{request})) {
			if err != nil || result.Error != nil {
				t.Fatal(err, result.Error)
			}
			return result
		}
		t.Fatal("no result")
		return api.BatchResult{}
	}
	first, again := batch(), batch()
	if first.Existing || !again.Existing || again.ID != first.ID || again.State != api.StateActive {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if err := client.Unsubscribe(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if gone := batch(); !gone.Existing || gone.ID != first.ID || gone.State != "deleted" {
		t.Errorf("after its deletion %+v, state %q", gone, gone.State)
	}
	single, err := client.Subscribe(t.Context(), request)
	if err != nil || single.ID != first.ID || single.State != "deleted" {
		t.Errorf("a single request: %+v, %v", single, err)
	}
}
