package fetcher

import (
	"bufio"
	"context"
	"time"

	"github.com/valyala/fasthttp"
)

// ask makes one exchange: it asks for the URL of a request and leaves the answer in
// resp. An idle connection may have died unnoticed; when it did so before a byte
// came back, the request is sent once more on a new one.
func (f *Fetcher) ask(ctx context.Context, deadline time.Time, req *Request, m message, resp *Response) error {
	a, err := parseURL(req.URL)
	if err != nil {
		return err
	}
	if req.Room.resp == nil {
		resp.memory.open(a.host)
	}
	h, err := f.pool.enter(ctx, deadline, a.origin)
	if err != nil {
		return err
	}
	defer f.pool.leave(h)
	c, err := f.idleConn(ctx, deadline, h)
	if err != nil {
		return err
	}
	if c != nil {
		err = f.exchange(source{ctx, deadline, c}, a, m, resp)
		if !isCut(err) || c.received > 0 || ctx.Err() != nil {
			return err
		}
		f.metrics.resent.Inc()
	}
	if c, err = f.newConn(ctx, deadline, a, h); err != nil {
		return err
	}
	return f.exchange(source{ctx, deadline, c}, a, m, resp)
}

// idleConn returns a connection that was kept, begun, or nil when there is none
// that still stands.
func (f *Fetcher) idleConn(ctx context.Context, deadline time.Time, h *host) (*conn, error) {
	for {
		c := f.pool.take(h)
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

// newConn dials a connection to a host and begins it.
func (f *Fetcher) newConn(ctx context.Context, deadline time.Time, a address, h *host) (*conn, error) {
	if err := f.pool.reserve(ctx, deadline); err != nil {
		return nil, err
	}
	f.metrics.dials.Inc()
	c, err := f.dialer.dial(ctx, deadline, a)
	if err != nil {
		f.pool.unreserve()
		return nil, err
	}
	c.host = h
	if err := c.begin(ctx, deadline); err != nil {
		f.pool.discard(c)
		return nil, err
	}
	return c, nil
}

// exchange sends one request on a connection that has begun, reads the answer
// into resp, and keeps the connection if it can carry another.
func (f *Fetcher) exchange(from source, a address, m message, resp *Response) error {
	keep, err := f.converse(from, a, m, resp)
	c := from.conn
	c.end()
	resp.WireBytes += c.received
	if keep && err == nil {
		f.pool.put(c)
	} else {
		f.pool.discard(c)
	}
	return err
}

func (f *Fetcher) converse(from source, a address, m message, resp *Response) (keep bool, err error) {
	resp.request = f.constants.appendRequest(resp.request[:0], a, m)
	c := from.conn
	if !m.permit.stands() {
		return false, errPermit
	}
	_, err = c.net.Write(resp.request)
	resp.Sent = time.Now() // not before the write, which a busy or suspended machine delays
	if err != nil {
		return false, err
	}
	small := f.readers.Get().(*bufio.Reader)
	small.Reset(c)
	defer f.readers.Put(small)
	in, err := readHead(small, &resp.header, f.config.MaxHeader)
	if err != nil {
		return false, err
	}
	resp.Status = resp.header.StatusCode()
	framed, err := f.readContent(in, from, m, resp)
	// What is left over belongs to no response of ours.
	clean := in.Buffered() == 0 && small.Buffered() == 0
	return framed && clean && !resp.header.ConnectionClose(), err
}

// readContent reads what follows the head. framed reports that the end of the
// response is known, and reached.
func (f *Fetcher) readContent(in *bufio.Reader, from source, m message, resp *Response) (framed bool, err error) {
	if err := checkAnswer(&resp.header, m); err != nil {
		return false, err
	}
	switch status := resp.Status; {
	case status == fasthttp.StatusNotModified || status == fasthttp.StatusNoContent:
		resp.memory.trim()
		return true, nil
	case !isSuccess(status):
		resp.memory.trim()
		return skipBody(in, resp), nil
	}
	resp.memory.begin(from, resp.header.ContentLength())
	b := resp.body()
	b.wire, framed, err = readBody(in, &resp.header, &resp.memory, b.wire[:0], f.config.MaxBody)
	resp.memory.end()
	if err != nil {
		return false, err
	}
	resp.Body, err = f.decoders.decode(resp, f.config.MaxBody)
	resp.memory.trim()
	return framed, err
}

// checkAnswer refuses answers to what was not asked: each would be taken for
// content, or for the lack of news, that it is not.
func checkAnswer(header *fasthttp.ResponseHeader, m message) error {
	switch header.StatusCode() {
	case fasthttp.StatusNotModified:
		if m.validators == (validators{}) {
			return fail(Protocol, "304 to an unconditional request")
		}
	case fasthttp.StatusPartialContent:
		return fail(Protocol, "206: a part of the content, which was not asked for")
	case fasthttp.StatusIMUsed:
		return checkDelta(header, m)
	}
	return nil
}

// checkDelta refuses a 226 unless it is a feed of what is new since the content
// that the request named, and nothing else was done to it (RFC 3229, section 10.4.1).
func checkDelta(header *fasthttp.ResponseHeader, m message) error {
	if !m.delta {
		return fail(Protocol, "226: a delta, which was not asked for")
	}
	if manipulations := header.PeekAll("IM"); len(manipulations) != 1 || !equalFold(manipulations[0], "feed") {
		return fail(Protocol, "226 with IM %q; asked for feed", manipulations)
	}
	if base := header.Peek("Delta-Base"); len(base) > 0 && string(base) != m.etag {
		return fail(Protocol, "226 from %q; asked for what is new since %q", base, m.etag)
	}
	return nil
}

// skipBody discards the rest of a body, if it is short, since a new connection
// costs more. It reports whether its end was reached.
func skipBody(in *bufio.Reader, resp *Response) (framed bool) {
	const most = small - 1
	var err error
	b := resp.body()
	b.wire, framed, err = readBody(in, &resp.header, &resp.memory, b.wire[:0], most)
	return framed && err == nil
}
