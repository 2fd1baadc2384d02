// Package fetcher makes one safe, conditional request: a GET with validators,
// everything that comes back capped, and one deadline for all of it. Whatever an
// origin does, a fetch ends in a [Response] or in an [*Error] with a [Class], within
// its time and its memory. It also reads what the origin says of caching and of
// when to come back.
//
// It makes one request: when to poll, which hosts to spare, and whether to follow a
// redirect, is the caller's part. DESIGN.md has the
// deadline's mechanics, the connection budget and the redirect policy.
package fetcher

import (
	"bufio"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Fetcher fetches documents. Its methods may be called concurrently.
type Fetcher struct {
	config    Config
	constants constants
	dialer    *dialer
	pool      *pool
	metrics   *metrics
	budget    *budget
	decoders  decoders
	responses sync.Pool // of *Response
	buffers   sync.Pool // of *buffers
	readers   sync.Pool // of *bufio.Reader
}

// New returns a Fetcher, which starts no goroutine. A nil registerer keeps its
// metrics unregistered.
func New(config Config, registerer prometheus.Registerer) (*Fetcher, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fetcher{
		config:    config,
		constants: newConstants(config),
		pool:      newPool(config.MaxConns, config.MaxConnsPerHost, config.MaxIdleConnDuration),
		budget:    newBudget(config.MaxInFlight),
	}
	if f.decoders, err = newDecoders(); err != nil {
		return nil, fmt.Errorf("fetcher: %w", err)
	}
	f.metrics = newMetrics(registerer, f)
	f.dialer = newDialer(config, f.metrics)
	f.responses.New = func() any {
		resp := &Response{memory: account{budget: f.budget}}
		// Else a type that no origin gave would be read out of the parser.
		resp.header.SetNoDefaultContentType(true)
		return resp
	}
	f.buffers.New = func() any { return new(buffers) }
	f.readers.New = func() any { return bufio.NewReaderSize(nil, min(readBuffer, config.MaxHeader)) }
	return f, nil
}

// readBuffer is the buffer, in bytes, that a head is read into: most fit.
const readBuffer = 4 << 10

// Close closes the idle connections. Fetches under way end by themselves, and
// their connections are closed when they do; later ones fail with [ErrClosed].
func (f *Fetcher) Close() { f.pool.close() }

// Request is one conditional GET.
type Request struct {
	// URL is canonical, as [channel.Canonical] returns it.
	URL string

	// ETag and LastModified are the validators of the content that the caller holds,
	// byte for byte as a [Response] carried them. Empty: none.
	ETag, LastModified string

	// ValidatorURL is the URL of that response's request: validators mean nothing to
	// another resource, so only a request to this URL carries them. Empty: URL.
	ValidatorURL string

	// Trail holds the URLs whose redirects led to URL, the first one first. Nil: none
	// did.
	Trail []string

	// Subscribers is how many there are to what URL gives. From ten on the User-Agent
	// tells the origin, as those of feed readers do.
	Subscribers uint64

	// Room is what [Fetcher.Reserve] has set aside for the body.
	Room Room

	// Permit is looked at just before the request is written, which may be long after Fetch
	// was called, and again before it is sent once more.
	Permit Permit

	// Delta says that the caller holds the content that ETag names, and can take a
	// feed of the entries that are new since then for an answer (RFC 3229's instance
	// manipulation "feed"). Without an ETag to send it does nothing.
	Delta bool
}

// Permit is the right to ask for a channel, which may end at any time. The zero value
// never does.
type Permit struct {
	Channel channel.ID
	Stands  func(channel.ID) bool // must not block; nil: it stands
}

func (p Permit) stands() bool { return p.Stands == nil || p.Stands(p.Channel) }

// Fetch sends req and returns the response, whatever its status. Redirects are not
// followed: [Response.Location] says where they lead. The caller must Release the
// response. An error is an [*Error].
func (f *Fetcher) Fetch(ctx context.Context, req Request) (*Response, error) {
	resp := req.Room.resp
	if resp == nil {
		resp = f.response()
	}
	resp.Started = time.Now()
	f.metrics.inFlight.Inc()
	err := f.fetch(ctx, &req, resp)
	resp.Memory, resp.Waited = int64(resp.memory.peak), resp.memory.waited
	f.metrics.inFlight.Dec()
	f.metrics.received.Add(float64(resp.WireBytes))
	if err != nil {
		err = f.failed(ctx, req.URL, err, resp)
		resp.Release()
		return nil, err
	}
	f.metrics.done(resp)
	return resp, nil
}

func (f *Fetcher) fetch(ctx context.Context, req *Request, resp *Response) error {
	deadline := resp.Started.Add(f.config.Timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	sent := req.message()
	if err := f.ask(ctx, deadline, req, sent, resp); err != nil {
		return err
	}
	resp.Finished = time.Now()
	resp.read(sent.validators)
	if !isRedirect(resp.Status) {
		return nil
	}
	var err error
	resp.Location, err = f.next(req, resp.header.Peek(fasthttp.HeaderLocation))
	return err
}

// response returns a response that holds nothing.
func (f *Fetcher) response() *Response {
	resp := f.responses.Get().(*Response)
	resp.fetcher = f
	return resp
}

// failed returns the error of a fetch that ended without a response. resp holds what
// came all the same; nil: nothing was asked.
func (f *Fetcher) failed(ctx context.Context, url string, err error, resp *Response) error {
	class := classify(ctx, err)
	if class == Canceled && ctx.Err() != nil {
		// An interrupted read says that it timed out.
		err = context.Cause(ctx)
	}
	f.metrics.failures[class].Inc()
	failed := &Error{Class: class, URL: url, Err: err}
	if resp != nil {
		failed.WireBytes, failed.Waited, failed.Sent = resp.WireBytes, resp.Waited, resp.Sent
		failed.Memory = int64(max(resp.memory.peak, resp.memory.needed))
	}
	return failed
}
