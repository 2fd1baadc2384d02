package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// The fields of every request, beside Host and validators: the node's.
const (
	userAgent = "Corona/limit"
	accepts   = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, " +
		"text/html;q=0.8, application/json;q=0.8, */*;q=0.7"
	encodings = "gzip, br, zstd, deflate"
)

// answerWithin bounds each wait for an answer.
const answerWithin = 10 * time.Second

// loop asks with fasthttp's client: a goroutine for each connection.
type loop struct {
	lanes []lane
}

// lane is one connection and the requests that it repeats.
type lane struct {
	client   *fasthttp.HostClient
	requests []*fasthttp.Request
	next     int
}

func newLoop(f *field) *loop {
	l := new(loop)
	for h, targets := range f.targets {
		client := &fasthttp.HostClient{
			Addr: f.hosts[h], MaxConns: f.perHost, NoDefaultUserAgentHeader: true,
			MaxIdleConnDuration: time.Minute, ReadTimeout: answerWithin, WriteTimeout: answerWithin,
		}
		lanes := make([]lane, f.perHost)
		for i, t := range targets {
			into := &lanes[i%f.perHost]
			into.client, into.requests = client, append(into.requests, t.request())
		}
		l.lanes = append(l.lanes, lanes...)
	}
	return l
}

// request returns the request for a target as the loop repeats it.
func (t *target) request() *fasthttp.Request {
	request := new(fasthttp.Request)
	request.SetRequestURI("http://" + t.host + t.path)
	for _, field := range t.fields() {
		request.Header.Set(field[0], field[1])
	}
	return request
}

// fields returns the fields of the request for a target.
func (t *target) fields() [][2]string {
	fields := [][2]string{{"User-Agent", userAgent}, {"Accept", accepts}, {"Accept-Encoding", encodings}, {"If-None-Match", t.etag}}
	if t.modified != "" {
		fields = append(fields, [2]string{"If-Modified-Since", t.modified})
	}
	return fields
}

// run asks for so long, on each connection once a gap at most, and returns how often.
func (l *loop) run(ctx context.Context, window, gap time.Duration) (requests int, err error) {
	counts, failures := make([]int, len(l.lanes)), make([]error, len(l.lanes))
	end := time.Now().Add(window)
	var running sync.WaitGroup
	for i := range l.lanes {
		first := time.Now().Add(gap * time.Duration(i) / time.Duration(len(l.lanes)))
		running.Go(func() { counts[i], failures[i] = l.lanes[i].run(ctx, first, end, gap) })
	}
	running.Wait()
	for _, n := range counts {
		requests += n
	}
	return requests, errors.Join(append(failures, ctx.Err())...)
}

func (l *lane) run(ctx context.Context, due, end time.Time, gap time.Duration) (n int, err error) {
	response := new(fasthttp.Response)
	for ; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if gap > 0 {
			time.Sleep(time.Until(due))
			due = due.Add(gap)
		}
		request := l.requests[l.next%len(l.requests)]
		l.next++
		if err := l.client.Do(request, response); err != nil {
			return n, fmt.Errorf("%s: %w", request.URI(), err)
		}
		if status := response.StatusCode(); status != fasthttp.StatusNotModified {
			return n, fmt.Errorf("%s: status %d, want 304", request.URI(), status)
		}
	}
	return n, nil
}
