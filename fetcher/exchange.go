package fetcher

import (
	"bufio"
	"context"
	"time"

	"github.com/valyala/fasthttp"
)

// ask makes one exchange: it asks for a canonical URL and leaves the answer in
// resp. An idle connection may have died unnoticed; when it did so before a byte
// came back, the request is sent once more on a new one.
func (f *Fetcher) ask(ctx context.Context, deadline time.Time, url string, v validators, resp *Response) error {
	a, err := parseURL(url)
	if err != nil {
		return err
	}
	c, err := f.idleConn(ctx, deadline, a)
	if err != nil {
		return err
	}
	if c != nil {
		err = f.exchange(c, a, v, resp)
		if !isCut(err) || c.received > 0 || ctx.Err() != nil {
			return err
		}
		f.metrics.resent.Inc()
	}
	if c, err = f.newConn(ctx, deadline, a); err != nil {
		return err
	}
	return f.exchange(c, a, v, resp)
}

// idleConn returns a connection that was kept, begun, or nil when there is none
// that still stands.
func (f *Fetcher) idleConn(ctx context.Context, deadline time.Time, a address) (*conn, error) {
	for {
		c := f.pool.take(a.origin)
		if c == nil {
			return nil, nil
		}
		err := c.begin(ctx, deadline)
		if err == nil && c.probe.silent() {
			return c, nil
		}
		f.pool.discard(c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// newConn dials a connection and begins it.
func (f *Fetcher) newConn(ctx context.Context, deadline time.Time, a address) (*conn, error) {
	if err := f.pool.reserve(ctx, deadline); err != nil {
		return nil, err
	}
	f.metrics.dials.Inc()
	c, err := f.dialer.dial(ctx, deadline, a)
	if err != nil {
		f.pool.unreserve()
		return nil, err
	}
	f.pool.add(a.origin, c)
	if err := c.begin(ctx, deadline); err != nil {
		f.pool.discard(c)
		return nil, err
	}
	return c, nil
}

// exchange sends one request on a connection that has begun, reads the answer
// into resp, and keeps the connection if it can carry another.
func (f *Fetcher) exchange(c *conn, a address, v validators, resp *Response) error {
	keep, err := f.converse(c, a, v, resp)
	c.end()
	resp.WireBytes += c.received
	if keep && err == nil {
		f.pool.put(c)
	} else {
		f.pool.discard(c)
	}
	return err
}

func (f *Fetcher) converse(c *conn, a address, v validators, resp *Response) (keep bool, err error) {
	resp.scratch = appendRequest(resp.scratch[:0], a, f.constant, v)
	if _, err := c.net.Write(resp.scratch); err != nil {
		return false, err
	}
	small := f.readers.Get().(*bufio.Reader)
	small.Reset(c)
	defer f.readers.Put(small)
	in, err := readHead(small, &resp.header, f.config.MaxHeader)
	if err != nil {
		return false, err
	}
	resp.readFields(v)
	framed, err := f.readContent(in, v, resp)
	// What is left over belongs to no response of ours.
	clean := in.Buffered() == 0 && small.Buffered() == 0
	return framed && clean && !resp.header.ConnectionClose(), err
}

// readContent reads what follows the head. framed reports that the end of the
// response is known, and reached.
func (f *Fetcher) readContent(in *bufio.Reader, v validators, resp *Response) (framed bool, err error) {
	switch status := resp.Status; {
	case status == fasthttp.StatusNotModified && v == (validators{}):
		return false, fail(Protocol, "304 to an unconditional request")
	case status == fasthttp.StatusPartialContent:
		return false, fail(Protocol, "206: a part of the content, which nobody asked for")
	case status == fasthttp.StatusNotModified || status == fasthttp.StatusNoContent:
		return true, nil
	case !isSuccess(status):
		return skipBody(in, resp), nil
	}
	resp.scratch, framed, err = readBody(in, &resp.header, resp.scratch[:0], f.config.MaxBody)
	if err != nil {
		return false, err
	}
	resp.Body, err = f.decoders.decode(resp, f.config.MaxBody)
	return framed, err
}

// skipBody reads a body that nobody wants, if it is short, since a new connection
// costs more. It reports whether its end was reached.
func skipBody(in *bufio.Reader, resp *Response) (framed bool) {
	const most = 64 << 10
	body, framed, err := readBody(in, &resp.header, resp.scratch[:0], most)
	resp.scratch = body
	return framed && err == nil
}
