package loadgen

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func benchOrigin(b *testing.B) *Origin {
	o, err := NewOrigin(Config{Channels: 1_000_000, Hosts: 1000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// request makes a request context such as a connection would reuse.
func request(path, header, value string) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.SetHost("127.0.0.1:9100")
	ctx.Request.Header.Set("Accept-Encoding", "gzip")
	if header != "" {
		ctx.Request.Header.Set(header, value)
	}
	return ctx
}

// BenchmarkNotModified asks what a poll costs that ends in 304, without the
// network: ns/op is to stay far below what a connection costs (5 µs), allocs/op
// at 0.
//
//	go test -run '^$' -bench NotModified -benchmem ./loadgen
func BenchmarkNotModified(b *testing.B) {
	o := benchOrigin(b)
	ctx := request(string(o.appendPath(nil, 42)), "", "")
	o.handle(ctx)
	ctx.Request.Header.SetBytesV("If-None-Match", ctx.Response.Header.Peek("ETag"))
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		o.handle(ctx)
	}
	if ctx.Response.StatusCode() != fasthttp.StatusNotModified {
		b.Fatalf("status %d", ctx.Response.StatusCode())
	}
}

// BenchmarkFull asks what a first poll costs: the mean over documents, compressed.
//
//	go test -run '^$' -bench Full -benchmem ./loadgen
func BenchmarkFull(b *testing.B) {
	o := benchOrigin(b)
	ctx := request("/", "", "")
	channel := 0
	for b.Loop() {
		ctx.Request.SetRequestURIBytes(o.appendPath(nil, channel))
		ctx.Response.Reset()
		o.handle(ctx)
		channel = (channel + 1) % 1000
	}
	stats := o.Stats()
	b.ReportMetric(float64(stats.BodyBytes)/float64(stats.Full), "compressed-B/op")
}

// BenchmarkRevision asks what finding a channel's revision costs.
//
//	go test -run '^$' -bench Revision ./loadgen
func BenchmarkRevision(b *testing.B) {
	schedule := Schedule{Seed: 1}
	channel, sum := 0, int64(0)
	for b.Loop() {
		sum += schedule.Revision(channel, 3*time.Hour)
		channel++
	}
	if sum < int64(channel) {
		b.Fatal("revisions start at 1")
	}
}
