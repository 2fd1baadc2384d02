package main

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

	"github.com/seed-91e7e7c1/corona/api"
)

// batchNode answers :batch as a node does, by key. It refuses hosts of
// refused.example, and those of busy.example for now.
type batchNode struct {
	mu struct {
		sync.Mutex
		byKey    map[string]api.SubscribeRequest
		requests int // bodies
		lines    int
	}
	breakAt int // the line, counted over all bodies, behind which the connection breaks; 0: none
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
	if n.mu.lines++; n.breakAt != 0 && n.mu.lines > n.breakAt {
		return nil
	}
	switch {
	case strings.Contains(request.URL, "refused.example"):
		return &api.BatchResult{Error: api.BadField("url", "not here")}
	case strings.Contains(request.URL, "busy.example"):
		return &api.BatchResult{Error: api.NewProblem(http.StatusServiceUnavailable, "no majority")}
	}
	if n.mu.byKey == nil {
		n.mu.byKey = map[string]api.SubscribeRequest{}
	}
	n.mu.byKey[request.Key] = request
	return &api.BatchResult{Subscription: &api.Subscription{ID: "sub_" + request.Key, URL: request.URL}}
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
		{"all well", "http://a.example/\nhttp://b.example/\n", nil, exitDone,
			"feeds: 2 subscribed, 0 refused\n", ""},
		{"OPML", "<opml><outline xmlUrl='http://a.example/'/></opml>", nil, exitDone,
			"feeds: 1 subscribed, 0 refused\n", ""},
		{"nothing in it", "# nothing\n", nil, exitDone,
			"feeds: 0 subscribed, 0 refused\n", ""},
		{"some refused", mixedList, nil, exitNo,
			"feeds: 2 subscribed, 4 refused (1 of them for now: import again later)\n",
			"feeds:3: https://u:p@b.example/: user name or password in the URL\n" +
				"feeds:4: http://refused.example/x: not here\n" +
				"feeds:7: http://busy.example/: no majority\n" +
				"feeds:8: nonsense: no scheme: write http:// or https:// before the host\n"},
		{"some refused, for programs", mixedList, []string{"--json"}, exitNo,
			`{"errors":[
{"line":3,"url":"https://u:p@b.example/","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"user name or password in the URL","field":"url","retryable":false}},
{"line":4,"url":"http://refused.example/x","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"not here","field":"url","retryable":false}},
{"line":7,"url":"http://busy.example/","error":{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"no majority","retryable":true}},
{"line":8,"url":"nonsense","error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"no scheme: write http:// or https:// before the host","field":"url","retryable":false}}],"subscribed":2,"refused":4}
`, ""},
		{"none well", "nonsense\n", nil, exitNo,
			"feeds: 0 subscribed, 1 refused\n", "feeds:1: nonsense: no scheme: write http:// or https:// before the host\n"},
		{"OPML that is cut off", "<opml>\n<outline xmlUrl='http://a.example/'/>\n", nil, exitUsage,
			"feeds: 1 subscribed, 0 refused\n", "corona: feeds:3: broken XML: unexpected EOF\n"},
		{"a page", "<html>", nil, exitUsage,
			"feeds: 0 subscribed, 0 refused\n", "corona: feeds:1: <html> is not OPML\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := serveFake(t, &batchNode{})
			got := runCorona(t.Context(), "", append([]string{"import", writeList(t, "feeds", test.list), "--server", server}, test.args...)...)
			if want := (outcome{test.code, test.out, test.errs}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestImportAgain: importing twice asks for the same subscriptions; another sink
// asks for others.
func TestImportAgain(t *testing.T) {
	node := &batchNode{}
	server := serveFake(t, node)
	list := "http://a.example/\nhttp://b.example/\nHTTP://A.example\n"
	for i, args := range [][]string{{}, {}, {"--sink", "webhook:http://h.example/"}} {
		got := runCorona(t.Context(), list, append([]string{"import", "-", "--server", server}, args...)...)
		if got.code != exitDone || got.out != "standard input: 3 subscribed, 0 refused\n" {
			t.Fatalf("import %d: %+v", i, got)
		}
		if want := []int{2, 2, 4}[i]; len(node.mu.byKey) != want {
			t.Errorf("after import %d: %d subscriptions, want %d", i, len(node.mu.byKey), want)
		}
	}
}

// TestImportMuch goes through several blocks, with refused lines at their ends.
func TestImportMuch(t *testing.T) {
	var list strings.Builder
	refused := 0
	for i := range 2*importBlock + 3 {
		if i%importBlock == 0 || i%importBlock == importBlock-1 {
			list.WriteString("nonsense\n")
			refused++
			continue
		}
		fmt.Fprintf(&list, "http://a.example/%d\n", i)
	}
	node := &batchNode{}
	got := runCorona(t.Context(), list.String(), "import", "-", "--server", serveFake(t, node))
	want := fmt.Sprintf("standard input: %d subscribed, %d refused\n", 2*importBlock+3-refused, refused)
	if got.code != exitNo || got.out != want || node.mu.requests != 3 || strings.Count(got.errs, "\n") != refused {
		t.Errorf("exit code %d, %d requests, printed %s, want %s", got.code, node.mu.requests, got.out, want)
	}
	if first, _, _ := strings.Cut(got.errs, "\n"); !strings.HasPrefix(first, "standard input:1: nonsense") {
		t.Errorf("first refused line: %s", first)
	}
}

func TestImportBreaks(t *testing.T) {
	list := strings.Repeat("http://a.example/\n", importBlock+10)
	tests := []struct {
		name    string
		node    http.Handler
		out     string
		message string
	}{
		{"connection", &batchNode{breakAt: importBlock + 3}, fmt.Sprintf("standard input: %d subscribed, 0 refused\n", importBlock+3), "import again for the rest"},
		{"refused as a whole", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			respond(w, http.StatusInsufficientStorage, api.NewProblem(http.StatusInsufficientStorage, "disk nearly full"))
		}), "standard input: 0 subscribed, 0 refused\n", "the node refused: Insufficient Storage: disk nearly full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := runCorona(t.Context(), list, "import", "-", "--server", serveFake(t, test.node))
			if got.code != exitUnreachable || got.out != test.out || !strings.Contains(got.errs, test.message) {
				t.Errorf("%+v, want exit code %d, %s and %q", got, exitUnreachable, test.out, test.message)
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
	got := runCorona(ctx, "http://a.example/\n", "import", "-", "--server", serveFake(t, node))
	if got.code != exitUnreachable || !strings.Contains(got.errs, "interrupted") {
		t.Errorf("%+v, want exit code %d and a word of it", got, exitUnreachable)
	}
}

// TestImportRealList sends a list that people keep through a node.
func TestImportRealList(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", "lists", "smallweb-feeds.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the lists of real feeds are not here:", err)
	}
	node := &batchNode{}
	got := runCorona(t.Context(), "", "import", path, "--server", serveFake(t, node))
	if want := path + ": 36515 subscribed, 0 refused\n"; got.code != exitDone || got.out != want {
		t.Errorf("%+v, want %s", got, want)
	}
	if want := 36513; len(node.mu.byKey) != want { // two stand there in two spellings
		t.Errorf("%d keys, want %d", len(node.mu.byKey), want)
	}
}
