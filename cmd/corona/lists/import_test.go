package lists

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// batchNode answers :batch as a node does, each URL and sink once. It refuses hosts
// of refused.example, and those of busy.example for now.
type batchNode struct {
	mu struct {
		sync.Mutex
		made     map[api.SubscribeRequest]*api.Subscription
		requests int // bodies
		lines    int
		broken   int // connections
	}
	breakAt int // the line, counted over all bodies, that is taken and not answered: the connection breaks; 0: none
	breaks  int // how often; 0: always

	failAt, failFor int // the line behind which so many are refused, with failure
	failure         *api.Problem
}

func (n *batchNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/subscriptions:batch" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	http.NewResponseController(w).EnableFullDuplex()
	n.mu.Lock()
	n.mu.requests++
	n.mu.Unlock()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		var request api.SubscribeRequest
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return
		}
		result := n.subscribe(request)
		if result == nil {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		json.NewEncoder(w).Encode(result)
	}
}

func (n *batchNode) subscribe(request api.SubscribeRequest) *api.BatchResult {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.breakAt != 0 && n.mu.lines >= n.breakAt && (n.breaks == 0 || n.mu.broken < n.breaks) {
		n.mu.broken++
		n.make(request)
		return nil
	}
	n.mu.lines++
	switch {
	case n.mu.lines > n.failAt && n.mu.lines <= n.failAt+n.failFor:
		return &api.BatchResult{Error: n.failure}
	case strings.Contains(request.URL, "refused.example"):
		return &api.BatchResult{Error: api.BadField("url", "not here")}
	case strings.Contains(request.URL, "busy.example"):
		return &api.BatchResult{Error: api.NewProblem(http.StatusServiceUnavailable, "no majority")}
	}
	return n.make(request)
}

// make is called with mu locked.
func (n *batchNode) make(request api.SubscribeRequest) *api.BatchResult {
	if !request.Once || request.Key != "" {
		return &api.BatchResult{Error: api.BadField("once", "an import is to compare with what is there")}
	}
	made, existing := n.mu.made[request]
	if !existing {
		made = &api.Subscription{ID: fmt.Sprint("sub_", len(n.mu.made)), URL: request.URL, Created: time.Now().UTC()}
	}
	if n.mu.made == nil {
		n.mu.made = map[api.SubscribeRequest]*api.Subscription{}
	}
	n.mu.made[request] = made
	return &api.BatchResult{Subscription: made, Existing: existing}
}

func writeList(t *testing.T, name, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const mixedList = `# feeds
http://a.example/
https://u:p@b.example/
http://refused.example/x

HTTP://C.example:80/
http://busy.example/
nonsense`

func TestImport(t *testing.T) {
	tests := []struct {
		name, list string
		args       []string
		code       int
		out, errs  string
	}{
		{"all well", "http://a.example/\nhttp://b.example/\n", nil, cli.ExitDone,
			"feeds: 2 subscribed, 0 refused\n", ""},
		{"OPML", "<opml><outline xmlUrl='http://a.example/'/></opml>", nil, cli.ExitDone,
			"feeds: 1 subscribed, 0 refused\n", ""},
		{"nothing in it", "# nothing\n", nil, cli.ExitDone,
			"feeds: 0 subscribed, 0 refused\n", ""},
		{"some refused", mixedList, nil, cli.ExitNo,
			"feeds: 2 subscribed, 4 refused (1 of them for now: import again later)\n",
			"feeds:3: https://u:p@b.example/: user name or password in the URL\n" +
				"feeds:4: http://refused.example/x: not here\n" +
				"feeds:8: nonsense: no scheme: write http:// or https:// before the host\n" +
				"feeds:7: http://busy.example/: no majority\n"}, // it was to be asked again
		{"some refused, for programs", mixedList, []string{"--json"}, cli.ExitNo,
			`{"errors":[
{"line":3,"url":"https://u:p@b.example/","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"user name or password in the URL","field":"url","retryable":false}},
{"line":4,"url":"http://refused.example/x","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"not here","field":"url","retryable":false}},
{"line":8,"url":"nonsense","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"no scheme: write http:// or https:// before the host","field":"url","retryable":false}},
{"line":7,"url":"http://busy.example/","error":{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"no majority","retryable":true}}],"subscribed":2,"existing":0,"refused":4}
`, ""},
		{"none well", "nonsense\n", nil, cli.ExitNo,
			"feeds: 0 subscribed, 1 refused\n", "feeds:1: nonsense: no scheme: write http:// or https:// before the host\n"},
		{"OPML that is cut off", "<opml>\n<outline xmlUrl='http://a.example/'/>\n", nil, cli.ExitUsage,
			"feeds: 1 subscribed, 0 refused\n", "corona: feeds:3: broken XML: unexpected EOF\n"},
		{"a page", "<html>", nil, cli.ExitUsage,
			"feeds: 0 subscribed, 0 refused\n", "corona: feeds:1: <html> is not OPML\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := clitest.Serve(t, &batchNode{})
			got := runCorona(t.Context(), "", append([]string{"import", writeList(t, "feeds", test.list), "--server", server, "--retry-for", "0"}, test.args...)...)
			if want := (clitest.Outcome{Code: test.code, Out: test.out, Errs: test.errs}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestImportAgain: importing twice asks for the same subscriptions, and says which
// were there; another sink asks for others.
func TestImportAgain(t *testing.T) {
	node := &batchNode{}
	server := clitest.Serve(t, node)
	list := "http://a.example/\nhttp://b.example/\nHTTP://A.example\n"
	for i, test := range []struct {
		args   []string
		before int // one URL stands there twice
		stored int
	}{{nil, 1, 2}, {nil, 3, 2}, {[]string{"--sink", "webhook:http://h.example/"}, 1, 4}} {
		got := runCorona(t.Context(), list, append([]string{"import", "-", "--server", server}, test.args...)...)
		if want := fmt.Sprintf("standard input: 3 subscribed (%d of them before), 0 refused\n", test.before); got.Code != cli.ExitDone || got.Out != want {
			t.Fatalf("import %d: %+v, want %s", i, got, want)
		}
		if len(node.mu.made) != test.stored {
			t.Errorf("after import %d: %d subscriptions, want %d", i, len(node.mu.made), test.stored)
		}
	}
}

// TestImportMuch: many entries go in one request, and what is refused is reported
// in the order of the list, whoever refuses it.
func TestImportMuch(t *testing.T) {
	const entries, part = 10_000, 1000
	var list strings.Builder
	for i := range entries {
		switch i % part {
		case 0:
			list.WriteString("nonsense\n")
		case 1:
			list.WriteString("http://refused.example/\n")
		default:
			fmt.Fprintf(&list, "http://a.example/%d\n", i)
		}
	}
	node := &batchNode{}
	got := runCorona(t.Context(), list.String(), "import", "-", "--server", clitest.Serve(t, node))
	const refused = 2 * entries / part
	want := fmt.Sprintf("standard input: %d subscribed, %d refused\n", entries-refused, refused)
	if got.Code != cli.ExitNo || got.Out != want || node.mu.requests != 1 {
		t.Errorf("exit code %d, %d requests, printed %s, want %s", got.Code, node.mu.requests, got.Out, want)
	}
	for i, line := range strings.Split(strings.TrimSpace(got.Errs), "\n") {
		if want := fmt.Sprintf("standard input:%d: ", i/2*part+i%2+1); !strings.HasPrefix(line, want) {
			t.Fatalf("%s, want %s", line, want)
		}
	}
}

// TestImportManyBad: entries that are bad by themselves wait for those before them,
// but not without end.
func TestImportManyBad(t *testing.T) {
	list := "http://a.example/\n" + strings.Repeat("nonsense\n", importAhead+10) + "http://b.example/\n"
	got := runCorona(t.Context(), list, "import", "-", "--server", clitest.Serve(t, &batchNode{}))
	want := fmt.Sprintf("standard input: 2 subscribed, %d refused\n", importAhead+10)
	if got.Code != cli.ExitNo || got.Out != want {
		t.Errorf("exit code %d, printed %s, want %s", got.Code, got.Out, want)
	}
}

// TestImportEnds: what time does not mend, or has not mended for long enough, ends
// an import with what the user is to do.
func TestImportEnds(t *testing.T) {
	const entries, answered = 5000, 4000
	list := strings.Repeat("http://a.example/\n", entries)
	subscribed := fmt.Sprintf("standard input: %d subscribed (%d of them before), 0 refused\n", answered, answered-1)
	full := api.NewProblem(http.StatusInsufficientStorage, "disk nearly full")
	tests := []struct {
		name, retryFor string
		node           http.Handler
		out, message   string // out: empty where answers may be lost with the connection
	}{
		{"connection", "0", &batchNode{breakAt: answered}, "", "import again for the rest"},
		{"disk full, from the beginning", "1h", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			clitest.Respond(w, full.Status, full)
		}), "standard input: 0 subscribed, 0 refused\n", "the node refused: Insufficient Storage: disk nearly full"},
		{"disk full, half-way", "1h", &batchNode{failAt: answered, failFor: 1000 * entries, failure: full}, subscribed, "disk nearly full; what is subscribed stays, import again for the rest"},
		{"refuses for now, for ever", "0", &batchNode{failAt: answered, failFor: 1000 * entries, failure: api.NewProblem(http.StatusServiceUnavailable, "no majority")},
			subscribed, "no majority; what is subscribed stays, import again for the rest"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			endless := list + strings.Repeat(list, 20) // so that the end of the list is not reached before it is known
			got := runCorona(t.Context(), endless, "import", "-", "--server", clitest.Serve(t, test.node), "--retry-for", test.retryFor)
			if got.Code != cli.ExitUnreachable || test.out != "" && got.Out != test.out || !strings.Contains(got.Errs, test.message) {
				t.Errorf("%+v, want exit code %d, %s and %q", got, cli.ExitUnreachable, test.out, test.message)
			}
		})
	}
}

// TestImportRetries: an import goes through cut connections and refusals for now,
// waits longer each time that nothing came of it, leaves nothing out, and counts
// nothing of its own as there before.
func TestImportRetries(t *testing.T) {
	busy := api.NewProblem(http.StatusServiceUnavailable, "no majority")
	tests := []struct {
		name  string
		node  *batchNode
		waits string
	}{
		{"one cut", &batchNode{breakAt: 5000, breaks: 1}, "[1s]"},
		{"cuts in a row", &batchNode{breakAt: 5000, breaks: 4}, "[1s 2s 4s 8s]"},
		{"refused for now", &batchNode{failAt: 5000, failFor: 3, failure: busy}, "[1s]"},
		{"refused for now, all of it", &batchNode{failAt: 9999, failFor: 3, failure: busy}, "[1s 2s 4s]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const entries = 10_000
			var list strings.Builder
			for i := range entries {
				fmt.Fprintf(&list, "http://a.example/%d\n", i)
			}
			client, err := api.NewClient(clitest.Serve(t, test.node), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			var out, notes strings.Builder
			var waits []time.Duration
			tally := &importTally{}
			progress := newImportProgress(&notes, "feeds", 0, tally)
			imp := &importer{begun: time.Now(), client: client, sink: api.Sink{Type: api.SinkSSE}, tally: tally, progress: progress,
				report: newImportReport(&out, progress, "feeds", false),
				retries: newRetries(time.Minute, func(_ context.Context, d time.Duration) error {
					waits = append(waits, d)
					return nil
				})}
			if err := imp.run(t.Context(), "feeds", readList(strings.NewReader(list.String()))); err != nil {
				t.Fatal(err)
			}
			if tally.subscribed.Load() != entries || tally.existing.Load() != 0 || tally.refused.Load() != 0 || len(test.node.mu.made) != entries {
				t.Errorf("%s; the node has %d", tally, len(test.node.mu.made))
			}
			if fmt.Sprint(waits) != test.waits || strings.Count(notes.String(), "asking again in") < len(waits) {
				t.Errorf("waited %v, want %s; said %s", waits, test.waits, notes.String())
			}
		})
	}
}

func TestImportInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	node := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	got := runCorona(ctx, "http://a.example/\n", "import", "-", "--server", clitest.Serve(t, node))
	if got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, "interrupted") {
		t.Errorf("%+v, want exit code %d and a word of it", got, cli.ExitUnreachable)
	}
}

// TestImportRealList sends a list that people keep through a node.
func TestImportRealList(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "shared", "data", "lists", "smallweb-feeds.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the lists of real feeds are not here:", err)
	}
	node := &batchNode{}
	got := runCorona(t.Context(), "", "import", path, "--server", clitest.Serve(t, node))
	if want := path + ": 36515 subscribed (2 of them before), 0 refused\n"; got.Code != cli.ExitDone || got.Out != want {
		t.Errorf("%+v, want %s", got, want)
	}
	if want := 36513; len(node.mu.made) != want { // two stand there in two spellings
		t.Errorf("%d subscriptions, want %d", len(node.mu.made), want)
	}
}
