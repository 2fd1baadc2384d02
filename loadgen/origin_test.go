package loadgen

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// testClock is a clock that tests move.
type testClock struct{ now time.Time }

func (c *testClock) Now() time.Time { return c.now }

func newTestOrigin(t testing.TB, config Config) (*Origin, *testClock) {
	t.Helper()
	clock := &testClock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	config.Now = clock.Now
	o, err := NewOrigin(config)
	if err != nil {
		t.Fatal(err)
	}
	return o, clock
}

// get asks the origin for a path of any of its URLs; headers are name, value, ….
func get(o *Origin, url string, headers ...string) *fasthttp.Response {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.SetRequestURI(url)
	for i := 0; i < len(headers); i += 2 {
		ctx.Request.Header.Set(headers[i], headers[i+1])
	}
	o.handle(ctx)
	return &ctx.Response
}

func writeTrace(t testing.TB, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.jsonl.zst")
	if err := os.WriteFile(name, compressLines(t, lines...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConditions(t *testing.T) {
	o, clock := newTestOrigin(t, Config{Channels: 10, Seed: 1})
	url := o.URL(3)
	full := get(o, url)
	if full.StatusCode() != http.StatusOK || string(full.Header.ContentType()) != o.content.Format(3).ContentType() {
		t.Fatalf("first GET: %d, %s", full.StatusCode(), full.Header.ContentType())
	}
	etag, modified := string(full.Header.Peek("ETag")), string(full.Header.Peek("Last-Modified"))
	before := o.clock.when(o.content.ChangedAt(3, 1)).Add(-time.Second).UTC().Format(http.TimeFormat)
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"tag", []string{"If-None-Match", etag}, 304},
		{"weak tag", []string{"If-None-Match", "W/" + etag}, 304},
		{"one of a list", []string{"If-None-Match", `"a", ` + etag + `, "b"`}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another tag", []string{"If-None-Match", `"1-x"`}, 200},
		{"date", []string{"If-Modified-Since", modified}, 304},
		{"earlier date", []string{"If-Modified-Since", before}, 200},
		{"no date", []string{"If-Modified-Since", "yesterday"}, 200},
		{"another tag counts before the date", []string{"If-None-Match", `"1-x"`, "If-Modified-Since", modified}, 200},
		{"the tag counts before an earlier date", []string{"If-None-Match", etag, "If-Modified-Since", before}, 304},
	}
	for _, test := range tests {
		answer := get(o, url, test.headers...)
		if answer.StatusCode() != test.want || string(answer.Header.Peek("ETag")) != etag {
			t.Errorf("%s: %d with ETag %s, want %d with %s", test.name, answer.StatusCode(), answer.Header.Peek("ETag"), test.want, etag)
		}
		if test.want == 304 && len(answer.Body()) > 0 {
			t.Errorf("%s: 304 with a body", test.name)
		}
	}
	clock.now = o.clock.when(o.content.ChangedAt(3, 2))
	for _, headers := range [][]string{{"If-None-Match", etag}, {"If-Modified-Since", modified}} {
		if answer := get(o, url, headers...); answer.StatusCode() != 200 || string(answer.Header.Peek("ETag")) == etag {
			t.Errorf("%s after a change: %d with ETag %s", headers[0], answer.StatusCode(), answer.Header.Peek("ETag"))
		}
	}
	want := Stats{Requests: 13, Full: 7, NotModified: 6}
	if got := o.Stats(); got.Requests != want.Requests || got.Full != want.Full || got.NotModified != want.NotModified || got.BodyBytes == 0 {
		t.Errorf("Stats = %+v, want %+v with bytes", got, want)
	}
}

// Whoever asks by date alone must not miss the second of two changes in one
// second: no date is told until that second is over.
func TestLastModifiedWaitsForItsSecond(t *testing.T) {
	o, clock := newTestOrigin(t, Config{Channels: 10, Seed: 1})
	changed := o.clock.when(o.content.ChangedAt(3, 2))
	clock.now = changed
	if date := get(o, o.URL(3)).Header.Peek("Last-Modified"); len(date) > 0 {
		t.Errorf("at the instant of the change Last-Modified is %s, want none", date)
	}
	clock.now = changed.Truncate(time.Second).Add(time.Second)
	want := changed.UTC().Format(http.TimeFormat)
	if date := string(get(o, o.URL(3)).Header.Peek("Last-Modified")); date != want {
		t.Errorf("Last-Modified %q once the second is over, want %q", date, want)
	}
}

func TestGzip(t *testing.T) {
	o, _ := newTestOrigin(t, Config{Channels: 20, Seed: 1})
	for n := range o.Channels() {
		plain, packed := get(o, o.URL(n)), get(o, o.URL(n), "Accept-Encoding", "br, gzip")
		if string(packed.Header.Peek("Content-Encoding")) != "gzip" || len(packed.Body()) >= len(plain.Body()) {
			t.Fatalf("channel %d: %q, %d bytes of %d", n, packed.Header.Peek("Content-Encoding"), len(packed.Body()), len(plain.Body()))
		}
		if want := "W/" + string(plain.Header.Peek("ETag")); string(packed.Header.Peek("ETag")) != want {
			t.Errorf("channel %d: compressed ETag %s, want %s", n, packed.Header.Peek("ETag"), want)
		}
		reader, err := gzip.NewReader(bytes.NewReader(packed.Body()))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(reader); err != nil || !bytes.Equal(body, plain.Body()) {
			t.Errorf("channel %d: decompressed is not the plain document (%v)", n, err)
		}
	}
}

func TestNoSuchChannel(t *testing.T) {
	o, _ := newTestOrigin(t, Config{Channels: 30, Seed: 1})
	format := o.content.Format(0).String()
	for _, path := range []string{"/", "/0", "/0.", "/0.xml", "/00." + format, "/30.rss", "/-1.rss", "/99999999999999999999.rss", "/_", "/_other", "/.rss", "/" + format} {
		if answer := get(o, path); answer.StatusCode() != 404 {
			t.Errorf("%s: %d, want 404", path, answer.StatusCode())
		}
	}
	if answer := get(o, "/0."+format+"?utm_source=x"); answer.StatusCode() != 200 {
		t.Errorf("a query: %d, want 200", answer.StatusCode())
	}
}

func TestChannelsList(t *testing.T) {
	file := writeTrace(t, `{"t":1,"body":"a"}`)
	o, _ := newTestOrigin(t, Config{Listen: "127.0.0.250:9100", Channels: 50, Hosts: 7, Traces: []TraceConfig{{file, "/x"}, {file, "/y/z"}}})
	lines := strings.Split(strings.TrimSuffix(string(get(o, "/_channels").Body()), "\n"), "\n")
	if len(lines) != 52 || lines[0] != "http://127.0.0.250:9100/x" || lines[1] != "http://127.0.0.250:9100/y/z" {
		t.Fatalf("%d lines, first %q, %q", len(lines), lines[0], lines[1])
	}
	hosts := make(map[string]bool)
	for n, line := range lines {
		if line != o.URL(n) {
			t.Errorf("line %d is %q, want %q", n, line, o.URL(n))
		}
		hosts[strings.Split(line, "/")[2]] = true
		if answer := get(o, line); answer.StatusCode() != 200 {
			t.Errorf("%s: %d", line, answer.StatusCode())
		}
	}
	if len(hosts) != 7 || !hosts["127.0.1.0:9100"] {
		t.Errorf("hosts %v, want 7 from 127.0.0.250 on", hosts)
	}
}

// TestPolls: every request for a channel counts, whatever is answered, and no other.
func TestPolls(t *testing.T) {
	file := writeTrace(t, `{"t":1,"body":"a"}`)
	o, _ := newTestOrigin(t, Config{Channels: 5, Seed: 1, MaxRate: 1, Traces: []TraceConfig{{file, "/x"}}})
	if body := get(o, "/_polls").Body(); len(body) > 0 {
		t.Errorf("at the start %q, want nothing", body)
	}
	for _, n := range []int{0, 3, 5, 3} {
		get(o, o.URL(n))
	}
	get(o, "/nobody")
	get(o, "/_channels")
	want := ""
	for _, one := range []struct{ n, polls int }{{0, 1}, {3, 2}, {5, 1}} {
		want += fmt.Sprintf("{\"url\":%q,\"polls\":%d}\n", o.URL(one.n), one.polls)
	}
	if got := string(get(o, "/_polls").Body()); got != want {
		t.Errorf("polls %s, want %s", got, want)
	}
}

// The truth must name exactly the changes that a client could have seen.
func TestTruth(t *testing.T) {
	file := writeTrace(t, `{"t":1,"body":"a"}`, `{"t":31,"body":"b"}`, `{"t":9999999,"body":"c"}`)
	o, clock := newTestOrigin(t, Config{Channels: 200, Seed: 5, Speedup: 100, Traces: []TraceConfig{{file, "/x"}}})
	start := clock.now
	if body := get(o, "/_truth").Body(); len(body) > 0 {
		t.Errorf("at the start the truth is %q, want nothing", body)
	}
	clock.now = start.Add(10 * time.Minute) // 16 hours of the schedule
	end := clock.now
	truth := bufio.NewScanner(bytes.NewReader(get(o, "/_truth").Body()))
	last, changes := make(map[string]int64), 0
	for truth.Scan() {
		var line struct {
			URL       string    `json:"url"`
			Revision  int64     `json:"revision"`
			ChangedAt time.Time `json:"changed_at"`
		}
		if err := json.Unmarshal(truth.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Revision != max(last[line.URL], 1)+1 {
			t.Fatalf("%s: revision %d after %d", line.URL, line.Revision, last[line.URL])
		}
		last[line.URL], changes = line.Revision, changes+1
		clock.now = line.ChangedAt
		tag := fmt.Sprintf(`"%d-`, line.Revision)
		if got := get(o, line.URL).Header.Peek("ETag"); !bytes.HasPrefix(got, []byte(tag)) {
			t.Errorf("%s at %s: ETag %s, want revision %d", line.URL, line.ChangedAt, got, line.Revision)
		}
		clock.now = line.ChangedAt.Add(-1)
		if got := get(o, line.URL).Header.Peek("ETag"); bytes.HasPrefix(got, []byte(tag)) {
			t.Errorf("%s shows revision %d before %s", line.URL, line.Revision, line.ChangedAt)
		}
	}
	if changes < 200 || last[o.URL(0)] != 2 {
		t.Errorf("%d changes, the trace's last revision %d; want hundreds, and 2", changes, last[o.URL(0)])
	}
	clock.now = end
	for n := range o.Channels() {
		tag := fmt.Sprintf(`"%d-`, max(last[o.URL(n)], 1))
		if got := get(o, o.URL(n)).Header.Peek("ETag"); !bytes.HasPrefix(got, []byte(tag)) {
			t.Errorf("%s shows %s, the truth ends with revision %d", o.URL(n), got, last[o.URL(n)])
		}
	}
}

func TestReplayByStep(t *testing.T) {
	file := writeTrace(t, `{"t":1,"body":"{\"a\":1}"}`, `{"t":2,"body":""}`, `{"t":900000,"body":"[]"}`)
	o, clock := newTestOrigin(t, Config{Traces: []TraceConfig{{file, "/x"}}, Step: 10 * time.Second, Speedup: 50})
	start := clock.now
	for _, test := range []struct {
		after time.Duration
		want  string
	}{{0, `{"a":1}`}, {10*time.Second - 1, `{"a":1}`}, {10 * time.Second, ""}, {20 * time.Second, "[]"}, {time.Hour, "[]"}} {
		clock.now = start.Add(test.after)
		answer := get(o, "/x", "Accept-Encoding", "identity")
		if string(answer.Body()) != test.want || string(answer.Header.ContentType()) != "application/json" {
			t.Errorf("after %s: %q as %s, want %q", test.after, answer.Body(), answer.Header.ContentType(), test.want)
		}
	}
}

func TestNewOriginRefuses(t *testing.T) {
	file := writeTrace(t, `{"t":1,"body":"a"}`)
	tests := []struct {
		name   string
		config Config
		want   string
	}{
		{"nothing", Config{}, "nothing to serve"},
		{"negative", Config{Channels: -1}, "-1 channels"},
		{"hosts", Config{Channels: 1, Hosts: 10_001}, "10001 hosts"},
		{"all addresses", Config{Channels: 1, Listen: "0.0.0.0:9100"}, "127.0.0.0/8"},
		{"a name", Config{Channels: 1, Listen: "localhost:9100"}, "127.0.0.0/8"},
		{"IPv6", Config{Channels: 1, Listen: "[::1]:9100"}, "127.0.0.0/8"},
		{"mapped", Config{Channels: 1, Listen: "[::ffff:127.0.0.1]:9100"}, "127.0.0.0/8"},
		{"beyond", Config{Channels: 1, Listen: "127.255.255.254:9100", Hosts: 2}, "beyond"},
		{"slow", Config{Channels: 1, Speedup: -1}, "speedup -1"},
		{"step", Config{Channels: 1, Step: -1}, "step"},
		{"max age", Config{Channels: 1, MaxAge: 1500 * time.Millisecond}, "max age 1.5s: want whole seconds"},
		{"negative max age", Config{Channels: 1, MaxAge: -time.Second}, "max age -1s"},
		{"rate", Config{Channels: 1, MaxRate: -1}, "max rate -1"},
		{"no number", Config{Channels: 1, MaxRate: math.NaN()}, "max rate NaN"},
		{"rest", Config{Channels: 1, RetryAfter: -time.Second}, "retry after -1s"},
		{"no slash", Config{Traces: []TraceConfig{{file, "x"}}}, "begins with /"},
		{"reserved", Config{Traces: []TraceConfig{{file, "/_truth"}}}, "begins with /"},
		{"query", Config{Traces: []TraceConfig{{file, "/x?y"}}}, "query"},
		{"twice", Config{Traces: []TraceConfig{{file, "/x"}, {file, "/x"}}}, "twice"},
		{"taken", Config{Channels: 1, Seed: 1, Traces: []TraceConfig{{file, "/0." + Content{Schedule: Schedule{1}}.Format(0).String()}}}, "synthetic"},
		{"missing", Config{Traces: []TraceConfig{{file + ".none", "/x"}}}, "no such file"},
	}
	for _, test := range tests {
		if _, err := NewOrigin(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
}

func TestPollAllocatesNothing(t *testing.T) {
	o, err := NewOrigin(Config{Channels: 1_000_000, Seed: 1, MaxAge: time.Hour, MaxRate: maxRate})
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"If-None-Match", "If-Modified-Since"} {
		value := map[string]string{"If-None-Match": "*", "If-Modified-Since": "Fri, 20 Nov 2099 12:00:00 GMT"}[header]
		ctx := request(string(o.appendPath(nil, 77)), header, value)
		if allocations := testing.AllocsPerRun(100, func() {
			ctx.Response.Reset()
			o.handle(ctx)
		}); allocations != 0 || ctx.Response.StatusCode() != 304 {
			t.Errorf("%s: %d with %.0f allocations, want 304 with none", header, ctx.Response.StatusCode(), allocations)
		}
	}
}

// FuzzParseChannel holds that a channel has one path only.
func FuzzParseChannel(f *testing.F) {
	o, _ := newTestOrigin(f, Config{Channels: 1000, Seed: 1})
	f.Add("/0.rss")
	f.Add("/999.html")
	f.Add("/0123.atom")
	f.Fuzz(func(t *testing.T, path string) {
		channel, found := o.parseChannel([]byte(path))
		if !found {
			return
		}
		if channel < 0 || channel >= 1000 || string(o.appendPath(nil, channel)) != path {
			t.Fatalf("%q is channel %d, whose path is %s", path, channel, o.appendPath(nil, channel))
		}
	})
}
