package originaudit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, hosts int) *Origin {
	t.Helper()
	o, err := Listen(t.Context(), hosts, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// get asks once on a connection of its own, with lines of more fields, and returns
// all that comes back in 200 ms, or until the connection ends.
func get(t *testing.T, url string, lines ...string) string {
	t.Helper()
	host, target, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	head := append([]string{"GET /" + target + " HTTP/1.1", "Host: " + host, "Connection: close"}, lines...)
	fmt.Fprintf(conn, "%s\r\n\r\n", strings.Join(head, "\r\n"))
	answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20))
	return string(answer)
}

func statusOf(answer string) int {
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// A healthy document tells 304 to exactly what it gave, and 200 to all else.
func TestDocument(t *testing.T) {
	o := listen(t, 1)
	doc := new(Document)
	url := o.Play(0, "/feed", doc.Answer)
	first := get(t, url)
	pair := o.Log().Of(url)[0].Said.pair()
	if statusOf(first) != 200 || pair.ETag == "" || pair.LastModified == "" || !strings.Contains(first, "entry-0") {
		t.Fatalf("first answer: %s", first)
	}
	tests := []struct {
		name   string
		lines  []string
		status int
	}{
		{"the pair", []string{"If-None-Match: " + pair.ETag, "If-Modified-Since: " + pair.LastModified}, 304},
		{"the tag alone", []string{"If-None-Match: " + pair.ETag}, 304},
		{"the date alone", []string{"If-Modified-Since: " + pair.LastModified}, 304},
		{"a weaker tag", []string{"If-None-Match: " + strings.TrimPrefix(pair.ETag, "W/"), "If-Modified-Since: " + pair.LastModified}, 200},
		{"another date", []string{"If-Modified-Since: Sun, 01 Nov 2026 10:00:00 GMT"}, 200},
		{"nothing", nil, 200},
	}
	for _, test := range tests {
		if got := statusOf(get(t, url, test.lines...)); got != test.status {
			t.Errorf("%s: %d, want %d", test.name, got, test.status)
		}
	}
	doc.Grow()
	if grown := get(t, url, "If-None-Match: "+pair.ETag); statusOf(grown) != 200 || !strings.Contains(grown, "entry-1") {
		t.Errorf("grown: %s", grown)
	}
	if got := len(o.Log()); got != len(tests)+2 {
		t.Errorf("%d exchanges are in the log", got)
	}
}

// Deltas go to who asks for them and names a revision that is known.
func TestDocumentDeltas(t *testing.T) {
	o := listen(t, 1)
	doc := &Document{Deltas: true, Hints: Hints{Every: time.Hour, SkipHours: []int{3}, SkipDays: []time.Weekday{time.Monday}}}
	url := o.Play(0, "/feed", doc.Answer)
	whole := get(t, url, "A-IM: feed")
	for _, want := range []string{"200 OK", "<ttl>60</ttl>", "<hour>3</hour>", "<day>Monday</day>"} {
		if !strings.Contains(whole, want) {
			t.Errorf("no %s in %s", want, whole)
		}
	}
	tag := "If-None-Match: " + o.Log().Of(url)[0].Said.pair().ETag
	doc.Grow()
	delta := get(t, url, tag, "A-IM: feed")
	if statusOf(delta) != 226 || !strings.Contains(delta, "entry-1") || strings.Contains(delta, "entry-0") {
		t.Errorf("delta: %s", delta)
	}
	if statusOf(get(t, url, tag)) != 200 {
		t.Error("a delta to a request without A-IM")
	}
}

// Every script does what it is named for.
func TestScripts(t *testing.T) {
	o := listen(t, 1)
	flipping := (&Document{Flips: true}).Answer
	tests := []struct {
		name   string
		script Script
		want   string
	}{
		{"status", Status(410), "HTTP/1.1 410 Gone\r\n"},
		{"seconds", Refusal(429, "120"), "\r\nRetry-After: 120\r\n"},
		{"bare", Refusal(503, ""), "HTTP/1.1 503 "},
		{"date", RefusalUntil(429, DateRFC850, time.Hour), "day, "},
		{"redirect", Redirect(308, "/there"), "\r\nLocation: /there\r\n"},
		{"raw", Raw("HTTP/1.1 101 Switching\r\n\r\n"), "HTTP/1.1 101 Switching\r\n\r\n"},
		{"hinted", Hinted(Status(200)), "HTTP/1.1 103 "},
		{"hinted, then", Hinted(Status(200)), "\r\n\r\nHTTP/1.1 200 "},
		{"flips", flipping, `ETag: W/"r0-1;`},
		{"in turn, first", InTurn(Status(500), Status(404)), "500 "},
	}
	for i, test := range tests {
		answer := get(t, o.Play(0, fmt.Sprintf("/%d", i), test.script))
		if !strings.Contains(answer, test.want) || strings.HasPrefix(test.want, "HTTP/1.1") && !strings.HasPrefix(answer, test.want) {
			t.Errorf("%s: %s", test.name, answer)
		}
	}
	if answer := get(t, o.URL(0, "/unknown")); statusOf(answer) != 404 {
		t.Errorf("unknown: %s", answer)
	}
	turns := o.Play(0, "/turns", InTurn(Status(500), Status(404), flipping))
	for _, want := range []int{500, 404, 200, 200} {
		if got := statusOf(get(t, turns)); got != want {
			t.Errorf("in turn: %d, want %d", got, want)
		}
	}
}

// Each row is played, logged and over once the reader has gone, and none of them
// gives validators that a reader may use.
func TestRows(t *testing.T) {
	o := listen(t, 1)
	numbers := make(map[int]bool)
	for i, row := range Rows() {
		t.Run(row.Name, func(t *testing.T) {
			numbers[row.Number] = true
			url := o.Play(0, fmt.Sprintf("/%d", i), row.Play)
			answer := get(t, url)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := o.Await(ctx, url, 1); err != nil {
				t.Fatal(err)
			}
			silent := row.Number == 7 || strings.HasPrefix(row.Name, "reset instead") || row.Number == 5
			if (len(answer) < 10) != silent {
				t.Errorf("answered %q", answer[:min(len(answer), 200)])
			}
			if said := o.Log().Of(url)[0].Said; said.well() && said.Status != 304 {
				t.Errorf("logged as %+v", said)
			}
		})
	}
	for _, number := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 19} {
		if !numbers[number] {
			t.Errorf("nothing plays row %d", number)
		}
	}
}

// The log has what came over the wire, in the order of arrival, and whether a
// connection was used before; many hosts answer on one port, and one can be shut.
func TestOriginLog(t *testing.T) {
	o := listen(t, 3)
	doc := new(Document)
	for h := range 3 {
		o.Play(h, "/feed?x=1", doc.Answer)
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, h := range []int{0, 1, 1} {
		response, err := client.Get(o.URL(h, "/feed?x=1"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	log := o.Log()
	if len(log) != 3 {
		t.Fatalf("%d exchanges", len(log))
	}
	for i, e := range log {
		if e.Host != o.Host(min(i, 1)) || e.Target != "/feed?x=1" || e.Method != "GET" || e.Fields.Get("host") != e.Host ||
			e.Reused != (i == 2) || e.Answered.Before(e.Arrived) || i > 0 && e.Arrived.Before(log[i-1].Arrived) {
			t.Errorf("exchange %d: %+v", i, e)
		}
	}
	if !o.Published(o.URL(2, "/feed?x=1")) || o.Published(o.URL(2, "/feed")) {
		t.Error("wrong about what is published")
	}
	// The audit sees that this client is not a polite reader.
	kinds := kindsOf(Audit(log, Policy{Floor: time.Minute}))
	if want := []Kind{Floor, Unconditional, Agent}; !slices.Equal(kinds, want) {
		t.Errorf("found %v, want %v", kinds, want)
	}
	o.Refuse(2)
	if _, err := client.Get(o.URL(2, "/feed?x=1")); err == nil {
		t.Error("a host that refuses answers")
	}
}

// A document's body is noted with what it hints, and a slow one takes its time.
func TestDrip(t *testing.T) {
	o := listen(t, 1)
	slow := func(v Visit) Answer {
		return Answer{Said: Said{Status: 200}, Body: []byte("abc"), Send: Drip(1<<10, time.Hour)}
	}
	if answer := get(t, o.Play(0, "/", slow)); !strings.HasSuffix(answer, "abc") || !strings.Contains(answer, "Content-Length: 3\r\n") {
		t.Errorf("answered %q", answer)
	}
	never := func(v Visit) Answer {
		return Answer{Said: Said{Status: 200}, Body: []byte("abc"), Send: Drip(0, time.Hour)}
	}
	url := o.Play(0, "/never", never)
	if answer := get(t, url); answer != "" {
		t.Errorf("answered %q", answer)
	}
	if err := o.Await(t.Context(), url, 1); err != nil {
		t.Fatal(err)
	}
	if status := o.Log().Of(o.URL(0, "/never"))[0].Said.Status; status != 0 {
		t.Errorf("an answer whose client has gone is logged as %d", status)
	}
}
