package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

// results reads the answers of a batch.
func results(t *testing.T, body io.Reader) []api.BatchResult {
	t.Helper()
	var all []api.BatchResult
	decoder := json.NewDecoder(body)
	for {
		var one api.BatchResult
		if err := decoder.Decode(&one); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("line %d: %v", len(all)+1, err)
		}
		all = append(all, one)
	}
}

// Row 43: every line is answered in its place, and the good ones are kept.
func TestRow43BatchWithBadLines(t *testing.T) {
	tests := []struct {
		line   string
		status int // of the problem; 0: subscribed
		field  string
	}{
		{sseBody, 0, ""},
		{`{"url":`, 400, ""},
		{otherBody, 0, ""},
		{``, 400, ""},
		{`{"url":"http://10.0.0.1/","sink":{"type":"sse"}}`, 400, "url"},
		{`{"url":"` + strings.Repeat("x", 70000) + `"}`, 413, ""},
		{`{"url":"https://example.com/k","sink":{"type":"sse"},"key":"k"}`, 0, ""},
		{`{"url":"https://example.com/k","sink":{"type":"sse"},"key":"k"}`, 0, ""},
		{`{"url":"https://example.com/l","sink":{"type":"sse"},"key":"k"}`, 409, ""},
		{`{"url":"https://example.com/l","sink":{"type":"sse"},"key":"` + strings.Repeat("k", 256) + `"}`, 400, "key"},
		{`not JSON`, 400, ""},
		{`{"url":"https://example.com/m","sink":{"type":"sse"},"url":"https://example.com/n"}`, 400, "url"},
		{`{"url":"https://example.com/m","sink":{"type":"sse","type":"sse"}}`, 400, "sink.type"},
		{`{"url":"https://example.com/last","sink":{"type":"webhook","url":"https://h.example/","secret":"` + secret + `"}}`, 0, ""},
	}
	var body strings.Builder
	for _, test := range tests {
		body.WriteString(test.line + "\n")
	}
	node := &fakeNode{}
	s, registry := newServer(t, node, server.Config{})
	w := serve(s, request("POST", "/v1/subscriptions:batch", body.String()))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("status %d, Content-Type %q", w.Code, w.Header().Get("Content-Type"))
	}
	if strings.Contains(w.Body.String(), secret) {
		t.Error("the answer has the secret")
	}
	answers := results(t, w.Body)
	if len(answers) != len(tests) {
		t.Fatalf("%d answers to %d lines", len(answers), len(tests))
	}
	for i, test := range tests {
		answer := answers[i]
		if test.status == 0 {
			if answer.Error != nil || answer.Subscription == nil || !strings.Contains(test.line, answer.URL) {
				t.Errorf("line %d: %+v", i+1, answer)
			}
		} else if answer.Subscription != nil || answer.Error == nil || answer.Error.Status != test.status || answer.Error.Field != test.field {
			t.Errorf("line %d: %+v, %+v; want status %d about %q", i+1, answer.Subscription, answer.Error, test.status, test.field)
		}
	}
	if answers[6].ID != answers[7].ID {
		t.Error("one key made two subscriptions")
	}
	if len(node.subs) != 4 {
		t.Errorf("%d subscriptions kept, want 4", len(node.subs))
	}
	for result, want := range map[string]float64{"subscribed": 5, "refused": 9, "failed": 0} {
		if got := counted(t, registry, "corona_http_batch_lines_total", result); got != want {
			t.Errorf("%v lines %s, want %v", got, result, want)
		}
	}
}

// numbered is a body of subscriptions that is made while it is read.
type numbered struct {
	next, count int
	rest        []byte
}

func (n *numbered) Read(p []byte) (int, error) {
	if len(n.rest) == 0 {
		if n.next == n.count {
			return 0, io.EOF
		}
		for len(n.rest) < 16<<10 && n.next < n.count {
			n.rest = fmt.Appendf(n.rest, `{"url":"https://example.com/%d","sink":{"type":"sse"}}`+"\n", n.next)
			n.next++
		}
	}
	c := copy(p, n.rest)
	n.rest = n.rest[c:]
	return c, nil
}

// echo answers every request with its own URL and keeps nothing.
func echo(_ context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
	outcomes := make([]api.SubscribeOutcome, len(requests))
	for i, request := range requests {
		outcomes[i].Subscription = &api.Subscription{ID: request.URL, URL: request.URL, State: api.StateActive}
	}
	return outcomes
}

// Any number of lines passes in order and in constant memory, over a real
// connection in both directions at once.
func TestBatchIsConstantInMemory(t *testing.T) {
	const lines = 60_000
	s, _ := newServer(t, &fakeNode{subscribeHook: echo}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	response, err := http.Post("http://"+listener.Addr().String()+"/v1/subscriptions:batch", "application/x-ndjson", &numbered{count: lines})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answers := bufio.NewScanner(response.Body)
	var most, begin uint64
	for i := range lines {
		if !answers.Scan() {
			t.Fatalf("answer %d: %v", i, answers.Err())
		}
		if want := fmt.Sprintf(`{"id":"https://example.com/%d",`, i); !strings.HasPrefix(answers.Text(), want) {
			t.Fatalf("answer %d: %s", i, answers.Text())
		}
		if i == 5_000 {
			begin = liveHeap()
		} else if i%20_000 == 0 && i > 0 || i == lines-1 {
			most = max(most, liveHeap())
		}
	}
	if answers.Scan() {
		t.Errorf("an answer too many: %s", answers.Text())
	}
	if grown := int64(most) - int64(begin); grown > 16<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Row 36: a line of 1 GiB is one bad line: it is passed over without being kept.
func TestRow36LargeLine(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	before := liveHeap()
	var most uint64
	body := io.MultiReader(strings.NewReader(sseBody+"\n"), io.LimitReader(&endless{}, 1<<30),
		readerFunc(func() { most = liveHeap() }), strings.NewReader("\n"+otherBody))
	w := serve(s, httptest.NewRequest("POST", "http://localhost/v1/subscriptions:batch", body))
	answers := results(t, w.Body)
	if len(answers) != 3 || answers[0].Error != nil || answers[1].Error == nil || answers[1].Error.Status != 413 || answers[2].Error != nil {
		t.Errorf("answers %+v", answers)
	}
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("memory grew by %d KiB", grown>>10)
	}
}

// readerFunc calls a function where it stands in a body.
type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// A client that waits for each answer before its next line gets it.
func TestBatchInteractive(t *testing.T) {
	s, _ := newServer(t, &fakeNode{subscribeHook: echo}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	ours, theirs := io.Pipe()
	response, err := http.Post("http://"+listener.Addr().String()+"/v1/subscriptions:batch", "", ours)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answers := bufio.NewReader(response.Body)
	for i := range 20 {
		fmt.Fprintf(theirs, `{"url":"https://example.com/%d","sink":{"type":"sse"}}`+"\n", i)
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf("/%d\"", i)) {
			t.Fatalf("answer %d: %q, %v", i, line, err)
		}
	}
	theirs.Close()
	if rest, err := io.ReadAll(answers); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// No more chunks are with the node at a time than are meant to be.
func TestBatchConcurrencyIsBounded(t *testing.T) {
	var now, most atomic.Int64
	node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		for range 100 {
			runtime.Gosched()
		}
		now.Add(-1)
		return echo(ctx, requests)
	}}
	s, _ := newServer(t, node, server.Config{})
	w := serve(s, httptest.NewRequest("POST", "http://localhost/v1/subscriptions:batch", &numbered{count: 10_000}))
	if got := len(results(t, w.Body)); got != 10_000 {
		t.Errorf("%d answers", got)
	}
	if most.Load() > 4 {
		t.Errorf("%d chunks at a time", most.Load())
	}
}

// Row 42: lines of a range without majority fail within 5 s, by themselves.
func TestRow42BatchNoMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
			outcomes := echo(ctx, requests)
			<-ctx.Done()
			outcomes[1] = api.SubscribeOutcome{Err: fmt.Errorf("propose: %w", ctx.Err())}
			return outcomes
		}}
		s, registry := newServer(t, node, server.Config{})
		begun := time.Now()
		w := serve(s, request("POST", "/v1/subscriptions:batch", sseBody+"\n"+otherBody+"\n"+sseBody+"\n"))
		if took := time.Since(begun); took >= 5*time.Second {
			t.Errorf("took %s", took)
		}
		answers := results(t, w.Body)
		if len(answers) != 3 || answers[0].Error != nil || answers[2].Error != nil {
			t.Fatalf("answers %+v", answers)
		}
		if problem := answers[1].Error; problem == nil || problem.Status != http.StatusServiceUnavailable || !problem.Retryable {
			t.Errorf("problem %+v", problem)
		}
		if got := counted(t, registry, "corona_http_batch_lines_total", "failed"); got != 1 {
			t.Errorf("%v lines failed, want 1", got)
		}
	})
}

// A panic in a batch's worker is not the end of the process.
func TestBatchPanic(t *testing.T) {
	node := &fakeNode{subscribeHook: func(context.Context, []api.SubscribeRequest) []api.SubscribeOutcome { panic("index out of range") }}
	s, registry := newServer(t, node, server.Config{})
	answers := results(t, serve(s, request("POST", "/v1/subscriptions:batch", sseBody+"\n"+otherBody+"\n")).Body)
	if len(answers) != 2 || answers[0].Error == nil || answers[0].Error.Status != 500 || answers[1].Error == nil {
		t.Errorf("answers %+v", answers)
	}
	if got := counted(t, registry, "corona_http_panics_total"); got != 1 {
		t.Errorf("%v panics counted", got)
	}
}

// batchOverPipe starts a batch of which a first line was answered, over a
// connection in memory that stays open.
func batchOverPipe(t *testing.T, listener *pipeListener) (conn net.Conn, answers *bufio.Reader) {
	t.Helper()
	conn, err := listener.dial()
	if err != nil {
		t.Fatal(err)
	}
	go fmt.Fprintf(conn, "POST /v1/subscriptions:batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\n\r\n",
		len(sseBody)+1, sseBody)
	answers = bufio.NewReader(conn)
	for {
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, `{"id"`) {
			return conn, answers
		}
	}
}

// A batch ends with a cut connection, not as if it were whole, when its client
// falls silent, when its client does not read, and when the server stops.
func TestBatchCutShort(t *testing.T) {
	more := fmt.Sprintf("%x\r\n%s\n\r\n", len(sseBody)+1, sseBody)
	tests := []struct {
		name        string
		reads       bool // the client reads meanwhile
		end         func(conn net.Conn, stop func() error)
		after, most time.Duration // until the end
	}{
		{"silent client", true, func(net.Conn, func() error) {}, 30 * time.Second, 31 * time.Second},
		{"client that does not read", false, func(conn net.Conn, _ func() error) {
			io.WriteString(conn, more)
			time.Sleep(31 * time.Second)
		}, 30 * time.Second, 32 * time.Second},
		{"stopping server", true, func(_ net.Conn, stop func() error) { stop() }, 0, time.Second},
		{"stopping server and client that does not read", false, func(conn net.Conn, stop func() error) {
			io.WriteString(conn, more)
			synctest.Wait()
			stop()
		}, time.Second, 2 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, registry := newServer(t, &fakeNode{subscribeHook: echo}, server.Config{})
				listener := newPipeListener()
				server := run(t, s, listener)
				begun := time.Now()
				conn, answers := batchOverPipe(t, listener)
				defer conn.Close()
				rest := make(chan string, 1)
				read := func() {
					content, _ := io.ReadAll(answers)
					rest <- string(content)
				}
				if test.reads {
					go read()
				}
				test.end(conn, server.stop)
				if !test.reads {
					read()
				}
				if content := <-rest; strings.HasSuffix(content, "0\r\n\r\n") {
					t.Errorf("ended as if it were whole: %q", content)
				}
				if took := time.Since(begun); took < test.after || took > test.most {
					t.Errorf("ended after %s, want %s", took, test.after)
				}
				synctest.Wait()
				if got := counted(t, registry, "corona_http_requests_in_flight"); got != 0 {
					t.Errorf("%v requests in flight", got)
				}
			})
		})
	}
}

// A batch may be slow for ever, as long as something comes.
func TestSlowBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, &fakeNode{subscribeHook: echo}, server.Config{})
		listener := newPipeListener()
		run(t, s, listener)
		conn, answers := batchOverPipe(t, listener)
		defer conn.Close()
		for i := range 20 {
			time.Sleep(25 * time.Second)
			fmt.Fprintf(conn, "%x\r\n%s\n\r\n", len(sseBody)+1, sseBody)
			for line := ""; !strings.HasPrefix(line, `{"id"`); {
				var err error
				if line, err = answers.ReadString('\n'); err != nil {
					t.Fatalf("answer %d: %v", i, err)
				}
			}
		}
		io.WriteString(conn, "0\r\n\r\n")
		if rest, err := io.ReadAll(io.LimitReader(answers, 7)); err != nil || string(rest) != "\r\n0\r\n\r\n" {
			t.Errorf("ended with %q, %v", rest, err)
		}
	})
}

// One batch more than may run is told to come back.
func TestTooManyBatches(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
		close(entered)
		<-release
		return echo(ctx, requests)
	}}
	s, _ := newServer(t, node, server.Config{MaxBatches: 1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(s, request("POST", "/v1/subscriptions:batch", sseBody))
	}()
	<-entered
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions:batch", sseBody)), http.StatusServiceUnavailable, "", "batches")
	close(release)
	<-done
	node.subscribeHook = echo
	if w := serve(s, request("POST", "/v1/subscriptions:batch", sseBody)); w.Code != http.StatusOK {
		t.Errorf("afterwards: status %d", w.Code)
	}
}

// What arrives while the node is busy is asked for together: as many lines at a
// time as it does within a second or so, and never more than a chunk holds. So a
// slow node is not asked for what it cannot do in time.
func TestBatchGathers(t *testing.T) {
	const lines = 60_000
	tests := []struct {
		name     string
		perLine  time.Duration
		from, to int // lines of the largest chunk of the second half
	}{
		{"fast", time.Microsecond, 3841, 4096},
		{"slow", 2 * time.Millisecond, 256, 512},
		{"very slow", 12 * time.Millisecond, 200, 256},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked, most atomic.Int64
				node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
					time.Sleep(test.perLine * time.Duration(len(requests)))
					n := int64(len(requests))
					late := asked.Add(n) > lines/2
					for was := most.Load(); late && n > was && !most.CompareAndSwap(was, n); was = most.Load() {
						continue
					}
					return echo(ctx, requests)
				}}
				s, _ := newServer(t, node, server.Config{})
				w := serve(s, httptest.NewRequest("POST", "http://localhost/v1/subscriptions:batch", &numbered{count: lines}))
				answers := results(t, w.Body)
				for i, answer := range answers {
					if want := fmt.Sprintf("https://example.com/%d", i); answer.Error != nil || answer.URL != want {
						t.Fatalf("answer %d: %+v, want %s", i, answer, want)
					}
				}
				if len(answers) != lines {
					t.Errorf("%d answers", len(answers))
				}
				if n := int(most.Load()); n < test.from || n > test.to {
					t.Errorf("%d lines at a time, want %d to %d", n, test.from, test.to)
				}
			})
		})
	}
}
