package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/need"
)

// suiteVersion is the version of the npm package http-cache-tests that the lists
// below are about.
const suiteVersion = "0.4.5"

// suitesRun are the suites that ask what a private cache does by what a Response
// says: how long it reuses, and what it asks again with. Of these, all tests run
// that concern a private cache (see testdata/cachetests.mjs).
var suitesRun = map[string]string{
	"cc-freshness":    "freshness by max-age",
	"cc-parse":        "Cache-Control, well formed or not",
	"cc-response":     "directives that forbid reuse, or ask to validate",
	"age-parse":       "Age, well formed or not",
	"expires":         "freshness by Expires and Date",
	"expires-parse":   "dates, well formed or not",
	"vary-parse":      "Vary: *",
	"pragma":          "Pragma, which has no say in responses",
	"conditional-inm": "validation with an ETag",
	"update304":       "what a 304 renews, and that its fields describe no body",
	"other":           "ages of what is reused, and keys",
}

// suitesLeft are the others, and why none of their tests runs.
var suitesLeft = map[string]string{
	"auth":           "requests carry no Authorization",
	"cc-request":     "a poller's request has no directives",
	"conditional-lm": "answers to conditions of a client's own, and a poller has no client",
	"headers":        "a poller stores no fields but validators",
	"heuristic":      "nothing is guessed where nothing was said",
	"invalidation":   "only GET is sent",
	"method":         "only GET is sent",
	"partial":        "ranges are not asked for",
	"stale":          "what to do when an origin fails is not one exchange's to say",
	"status":         "bodies of what is not 2xx are not shown",
	"updateHEAD":     "HEAD is not sent",
	"vary":           "our requests for a URL are all alike",
}

// Why tests of the suites that run fail. The package is older than RFC 9111, and
// asks some things only to know (its kind "check").
const (
	lenientAge  = "RFC 9111, section 5.1: the first value counts, and one that is no number is none"
	strictDate  = "RFC 9111, section 5.3: what is no HTTP date is in the past"
	strictDelta = "RFC 9111, section 4.2.1: what is no number is stale"
	firstCounts = "RFC 9111, section 4.2.1: the first of two counts"
	noClient    = "a poller's requests are its own: there is no client whose fields could go with them"
)

// suiteFailures are the tests that must fail, and why.
var suiteFailures = map[string]string{
	"age-parse-dup-0":             lenientAge,
	"age-parse-dup-0-twoline":     lenientAge,
	"age-parse-dup-old":           lenientAge,
	"age-parse-float":             lenientAge,
	"age-parse-negative":          lenientAge,
	"age-parse-nonnumeric":        lenientAge,
	"age-parse-numeric-parameter": lenientAge,
	"age-parse-parameter":         lenientAge,
	"age-parse-prefix-twoline":    lenientAge,

	"freshness-expires-32bit":                   strictDate,
	"freshness-expires-far-future":              strictDate,
	"freshness-expires-invalid-1-digit-hour":    strictDate,
	"freshness-expires-invalid-2-digit-year":    strictDate,
	"freshness-expires-invalid-aest":            strictDate,
	"freshness-expires-invalid-date-dashes":     strictDate,
	"freshness-expires-invalid-multiple-lines":  strictDate,
	"freshness-expires-invalid-multiple-spaces": strictDate,
	"freshness-expires-invalid-no-comma":        strictDate,
	"freshness-expires-invalid-time-periods":    strictDate,
	"freshness-expires-invalid-utc":             strictDate,

	"freshness-max-age-100a":         strictDelta,
	"freshness-max-age-a100":         strictDelta,
	"freshness-max-age-decimal-five": strictDelta,
	"freshness-max-age-decimal-zero": strictDelta,

	"freshness-max-age-two-stale-fresh-sameline": firstCounts,
	"freshness-max-age-two-stale-fresh-sepline":  firstCounts,

	"cc-resp-immutable-stale":           noClient,
	"conditional-etag-forward":          noClient,
	"conditional-etag-forward-unquoted": noClient,
	"conditional-etag-vary-headers":     noClient,

	"conditional-etag-strong-generate-unquoted":                    "validators are opaque: sent as they came, without quotes too",
	"headers-omit-headers-listed-in-Cache-Control-no-cache":        "which fields may be shown again is not ours to say: we show none",
	"headers-omit-headers-listed-in-Cache-Control-no-cache-single": "which fields may be shown again is not ours to say: we show none",
	"other-heuristic-content-disposition-attachment":               "nothing is guessed where nothing was said",
	"pragma-response-no-cache-heuristic":                           "nothing is guessed where nothing was said",
}

// TestCacheSuite runs the parts of a public suite of tests for HTTP caches that
// are about a private one's freshness and validation, against a cache that knows
// only what a Response tells it. The suite's own server and client run in node; it
// takes some seconds, since the client waits for things to become stale.
//
//	npm pack http-cache-tests@0.4.5 && tar -xzf http-cache-tests-0.4.5.tgz
//	HTTP_CACHE_TESTS=$PWD/package go test -run CacheSuite -v ./fetcher
func TestCacheSuite(t *testing.T) {
	node, dir := findSuite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	proxy := httptest.NewServer(newCacheProxy(t, startSuiteServer(ctx, t, node, dir)))
	defer proxy.Close()
	client := suiteClient{node, dir, proxy.URL}
	all, results := client.run(ctx, t, slices.Collect(maps.Keys(suitesRun)))
	if again := surprises(results); len(again) > 0 {
		// Some things are fresh for a second: a machine that stalls for longer fails
		// their tests once.
		_, repeated := client.run(ctx, t, again)
		maps.Copy(results, repeated)
	}
	for _, suite := range all {
		if (suitesRun[suite] == "") == (suitesLeft[suite] == "") {
			t.Errorf("suite %s is neither run nor left out, or both", suite)
		}
	}
	for id, result := range results {
		t.Run(id, func(t *testing.T) {
			if why := suiteFailures[id]; passed(result) != (why == "") {
				t.Errorf("%s; expected to fail: %q", result, why)
			}
		})
	}
	for id := range suiteFailures {
		if _, ran := results[id]; !ran {
			t.Errorf("%s did not run", id)
		}
	}
}

// findSuite returns where node and the unpacked package are. Without them the test
// is skipped, or fails where everything must be there.
func findSuite(t *testing.T) (node, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		need.Missing(t, "the suite runs in node (18 or later): %v", err)
	}
	dir = os.Getenv("HTTP_CACHE_TESTS")
	if dir == "" {
		need.Missing(t, "HTTP_CACHE_TESTS does not say where the npm package http-cache-tests is unpacked")
	}
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var about struct{ Version string }
	if err := json.Unmarshal(text, &about); err != nil || about.Version != suiteVersion {
		t.Fatalf("http-cache-tests %q (%v); want %s", about.Version, err, suiteVersion)
	}
	return node, dir
}

// surprises returns the tests that passed or failed against our lists.
func surprises(results map[string]json.RawMessage) (ids []string) {
	for id, result := range results {
		if passed(result) != (suiteFailures[id] == "") {
			ids = append(ids, id)
		}
	}
	return ids
}

func passed(result json.RawMessage) bool { return string(result) == "true" }

// suiteClient is the suite's client, which runs in node against a cache.
type suiteClient struct{ node, dir, cache string }

// run runs suites or tests, by ID, and returns the IDs of all suites, and by ID
// what came of the tests that ran.
func (c suiteClient) run(ctx context.Context, t *testing.T, names []string) (all []string, results map[string]json.RawMessage) {
	t.Helper()
	args := append([]string{filepath.Join("testdata", "cachetests.mjs"), c.dir, c.cache}, names...)
	client := exec.CommandContext(ctx, c.node, args...)
	var complaints bytes.Buffer
	client.Stderr = &complaints
	out, err := client.Output()
	if err != nil {
		t.Fatalf("the suite's client: %v\n%s", err, &complaints)
	}
	var answer struct {
		Suites  []string
		Results map[string]json.RawMessage
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("the suite's client: %v\n%s", err, out)
	}
	return answer.Suites, answer.Results
}

// startSuiteServer starts the suite's own server on a Unix socket, so that it
// listens nowhere else and no port needs to be found, and returns the socket's path.
func startSuiteServer(ctx context.Context, t *testing.T, node, dir string) (socket string) {
	t.Helper()
	scratch, err := os.MkdirTemp("", "cache") // a short path: sockets' names are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	socket = filepath.Join(scratch, "origin")
	server := exec.CommandContext(ctx, node, filepath.Join("server", "server.mjs"))
	server.Dir = dir
	server.Env = append(os.Environ(),
		"npm_config_protocol=http", "npm_config_port="+socket, "npm_config_pidfile="+filepath.Join(scratch, "pid"))
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	var drained sync.WaitGroup
	drained.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	t.Cleanup(func() {
		_ = server.Process.Kill()
		drained.Wait()
		_ = server.Wait()
	})
	if err != nil || !strings.HasPrefix(line, "Listening") {
		t.Fatalf("the suite's server says %q: %v", line, err)
	}
	return socket
}
