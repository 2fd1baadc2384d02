// Package fetcher makes one safe, conditional request: a GET with validators,
// redirects followed by hand, everything that comes back capped, and one deadline
// for all of it. Whatever an origin does, a fetch ends in a [Response] or in an
// [*Error] with a [Class], within its time and its memory.
//
// It asks once and knows nothing of schedules: when to ask, and whom to spare, is
// the caller's part. DESIGN.md has the deadline's mechanics, the connection budget
// and the redirect policy.
package fetcher

import (
	"bufio"
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Fetcher fetches documents. Its methods may be called concurrently.
type Fetcher struct {
	config    Config
	constant  []byte // the lines that every request carries
	dialer    *dialer
	pool      *pool
	metrics   *metrics
	decoders  decoders
	responses sync.Pool // of *Response
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
		config:   config,
		constant: constantHead(config.userAgent()),
		dialer:   newDialer(config),
		pool:     newPool(config.MaxConns, config.MaxIdleConnDuration),
	}
	f.metrics = newMetrics(registerer, f.pool)
	f.responses.New = func() any {
		resp := new(Response)
		// Else a type that no origin gave would be read out of the parser.
		resp.header.SetNoDefaultContentType(true)
		return resp
	}
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

	// ValidatorURL is the FinalURL of that response: validators mean nothing to
	// another resource, so only a request to this URL carries them. Empty: URL.
	ValidatorURL string
}

// Fetch sends req and returns the response that its redirects end in, whatever
// its status. The caller must Release it. An error is an [*Error].
func (f *Fetcher) Fetch(ctx context.Context, req Request) (*Response, error) {
	resp := f.responses.Get().(*Response)
	resp.fetcher = f
	resp.Started = time.Now()
	f.metrics.inFlight.Inc()
	url, err := f.follow(ctx, req, resp)
	resp.Finished = time.Now()
	f.metrics.inFlight.Dec()
	f.metrics.received.Add(float64(resp.WireBytes))
	if err != nil {
		resp.Release()
		return nil, f.failed(ctx, url, err)
	}
	resp.FinalURL = url
	f.metrics.done(resp)
	return resp, nil
}

func (f *Fetcher) failed(ctx context.Context, url string, err error) error {
	class := classify(ctx, err)
	if class == Canceled && ctx.Err() != nil {
		// An interrupted read says that it timed out.
		err = context.Cause(ctx)
	}
	f.metrics.failures[class].Inc()
	return &Error{Class: class, URL: url, Err: err}
}
