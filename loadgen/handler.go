package loadgen

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// counters are the origin's numbers on their way to [Stats].
type counters struct{ requests, full, notModified, bodyBytes, refused, early, lies atomic.Uint64 }

func (c *counters) read() Stats {
	return Stats{
		Requests:    c.requests.Load(),
		Full:        c.full.Load(),
		NotModified: c.notModified.Load(),
		BodyBytes:   c.bodyBytes.Load(),
		Refused:     c.refused.Load(),
		Early:       c.early.Load(),
		Lies:        c.lies.Load(),
	}
}

// Header names in the form that fasthttp compares, and values; constants would be
// copied at each use.
var (
	headerETag         = []byte("Etag")
	headerLastModified = []byte("Last-Modified")
	headerVary         = []byte("Vary")
	headerEncoding     = []byte("Content-Encoding")
	headerNoneMatch    = []byte("If-None-Match")
	headerSince        = []byte("If-Modified-Since")
	headerCache        = []byte("Cache-Control")
	headerRetryAfter   = []byte("Retry-After")
	valueAccept        = []byte("Accept-Encoding")
	valueGzip          = []byte("gzip")
)

// handle answers one request. For a poll that ends in 304 it allocates nothing.
func (o *Origin) handle(ctx *fasthttp.RequestCtx) {
	path := ctx.Path()
	switch string(path) {
	case "/_channels":
		o.serveChannels(ctx)
		return
	case "/_truth":
		o.serveTruth(ctx)
		return
	case "/_polls":
		o.servePolls(ctx)
		return
	}
	now := o.config.Now()
	shown, found := o.look(path, now)
	o.stats.requests.Add(1)
	if !found {
		ctx.Error("No such channel. /_channels lists those that there are.\n", fasthttp.StatusNotFound)
		if o.config.Audit != nil {
			o.config.Audit(exchange(ctx, now, o.config.Now()))
		}
		return
	}
	number := o.numberOf(&shown)
	o.polls[number].Add(1)
	revision := o.answer(ctx, &shown, number, now)
	if host := o.hostOf(&shown); o.troubles.ward.of(host) > late && o.troubles.ward.of(host) != refusing {
		o.play(ctx, number, host, now)
		return
	}
	if o.config.Observe != nil || o.config.Audit != nil {
		o.observe(ctx, number, now, revision)
	}
}

// play lets a sick host send something else than the whole answer, on the connection itself.
// Nothing of it is content.
func (o *Origin) play(ctx *fasthttp.RequestCtx, number, host int, now time.Time) {
	var whole bytes.Buffer
	_, _ = ctx.Response.WriteTo(&whole) // a buffer takes everything
	if o.config.Observe != nil {
		o.config.Observe(Poll{Channel: number, Arrived: now, Answered: o.config.Now()})
	}
	told := exchange(ctx, now, time.Time{})
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(conn net.Conn) {
		sent, send := o.troubles.ward.answer(host, whole.Bytes())
		err := o.troubles.ward.play(conn, sent, send)
		if told.Answered = o.config.Now(); err != nil || o.troubles.ward.of(host) != dripping {
			told.Said = originaudit.Said{Doubtful: err == nil}
		}
		if o.config.Audit != nil {
			o.config.Audit(told)
		}
	})
}

// answer answers a request for a channel, and returns the revision that it tells of; 0:
// of none.
func (o *Origin) answer(ctx *fasthttp.RequestCtx, s *shown, number int, now time.Time) int64 {
	host := o.hostOf(s)
	if wait, early := o.limits.take(host, now); wait > 0 {
		o.refuse(ctx, wait, early)
		return 0
	}
	if !o.troubles.healthy() {
		answered := o.fault(ctx, number, host)
		now = o.config.Now() // an answer tells of the instant at which it is sent
		o.setDate(ctx, host, now)
		if answered {
			return 0
		}
		*s = o.standing(number, now)
	}
	o.serveShown(ctx, s, now)
	return s.revision
}

// refuse answers with 429 (RFC 6585, section 4).
func (o *Origin) refuse(ctx *fasthttp.RequestCtx, wait time.Duration, early bool) {
	o.stats.refused.Add(1)
	if early {
		o.stats.early.Add(1)
	}
	var room [20]byte
	ctx.Response.Header.SetCanonical(headerRetryAfter, appendSeconds(room[:0], wait))
	ctx.Response.SetStatusCode(fasthttp.StatusTooManyRequests)
}

// shown is what stands at one of the origin's URLs at an instant.
type shown struct {
	replay   *replay // nil: synthetic
	channel  int     // of a synthetic one
	revision int64
}

// look finds what stands at a path.
func (o *Origin) look(path []byte, now time.Time) (shown, bool) {
	if replay := o.paths[string(path)]; replay != nil {
		return shown{replay: replay, revision: replay.Revision(o.clockOf(replay).at(now))}, true
	}
	channel, found := o.parseChannel(path)
	if !found {
		return shown{}, false
	}
	return shown{channel: channel, revision: o.changes.revision(channel, o.clock.at(now))}, true
}

// numberOf returns the number of the channel that what is shown is of.
func (o *Origin) numberOf(s *shown) int {
	if s.replay != nil {
		return s.replay.number
	}
	return len(o.replays) + s.channel
}

// hostOf returns the number of the host that what is shown lives on.
func (o *Origin) hostOf(s *shown) int {
	if s.replay != nil {
		return 0
	}
	return s.channel % o.config.Hosts
}

// clockOf returns the clock that a replay's times are of.
func (o *Origin) clockOf(r *replay) clock {
	if r.Step > 0 {
		return o.step
	}
	return o.clock
}

// changedAt returns the instant at which what is shown came to stand.
func (o *Origin) changedAt(s *shown) time.Time {
	if s.replay != nil {
		return o.clockOf(s.replay).when(s.replay.ChangedAt(s.revision))
	}
	return o.clock.when(o.changes.since(s.channel, s.revision))
}

// appendTag appends the quoted part of the ETag.
func (o *Origin) appendTag(dst []byte, s *shown) []byte {
	tag := uint64(0)
	if s.replay != nil {
		tag = s.replay.tags[s.revision-1]
	} else {
		tag = o.content.Tag(s.channel, s.revision)
	}
	dst = strconv.AppendInt(append(dst, '"'), s.revision, 10)
	dst = strconv.AppendUint(append(dst, '-'), tag, 36)
	return append(dst, '"')
}

// serveShown answers with 304 or with the document. The compressed form bears
// the same tag as the plain one, but a weak one (RFC 9110, section 8.8.3.3).
func (o *Origin) serveShown(ctx *fasthttp.RequestCtx, s *shown, now time.Time) {
	compress := ctx.Request.Header.HasAcceptEncodingBytes(valueGzip)
	var room [64]byte
	etag := append(room[:0], "W/"...)
	etag = o.appendTag(etag, s)
	tag := etag[2:]
	if !compress {
		etag = tag
	}
	header := &ctx.Response.Header
	if o.config.Dated == nil || !o.config.Dated(o.numberOf(s)) {
		header.SetCanonical(headerETag, etag)
	}
	header.SetCanonical(headerVary, valueAccept)
	if len(o.cacheControl) > 0 {
		header.SetCanonical(headerCache, o.cacheControl)
	}
	if o.notModified(&ctx.Request.Header, s, tag) {
		o.stats.notModified.Add(1)
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	o.serveFull(ctx, s, now, compress)
}

// notModified evaluates the conditions in RFC 9110's order: If-Modified-Since
// counts only without If-None-Match.
func (o *Origin) notModified(header *fasthttp.RequestHeader, s *shown, tag []byte) bool {
	if match := header.PeekBytes(headerNoneMatch); len(match) > 0 {
		return bytes.Contains(match, tag) || string(match) == "*"
	}
	since := header.PeekBytes(headerSince)
	if len(since) == 0 {
		return false
	}
	date, err := fasthttp.ParseHTTPDate(since)
	return err == nil && o.changedAt(s).Unix() <= date.Unix()
}

func (o *Origin) serveFull(ctx *fasthttp.RequestCtx, s *shown, now time.Time, compress bool) {
	o.setLastModified(ctx, o.numberOf(s), o.changedAt(s), now)
	o.stats.full.Add(1)
	if s.replay != nil {
		ctx.Response.Header.SetContentType(s.replay.ContentType)
		o.setBody(ctx, s.replay.Captures[s.revision-1].Body, compress)
		return
	}
	ctx.Response.Header.SetContentType(o.content.Format(s.channel).ContentType())
	buffer := o.buffers.Get().(*[]byte)
	*buffer = o.content.AppendDocument((*buffer)[:0], s.channel, s.revision)
	o.setBody(ctx, *buffer, compress)
	o.buffers.Put(buffer)
}

// setLastModified tells the date of the change, but not within the same second:
// another change in that second would bear the same date, and be lost to whoever
// asks by date (RFC 9110, section 8.8.2.2).
func (o *Origin) setLastModified(ctx *fasthttp.RequestCtx, channel int, changed, now time.Time) {
	if changed.Unix() < now.Unix() {
		changed = changed.Add(o.troubles.clockError(o.HostOf(channel)))
		var room [32]byte
		ctx.Response.Header.SetCanonical(headerLastModified, fasthttp.AppendHTTPDate(room[:0], changed.UTC()))
	}
}

func (o *Origin) setBody(ctx *fasthttp.RequestCtx, body []byte, compress bool) {
	if compress && len(body) > 0 {
		ctx.Response.Header.SetCanonical(headerEncoding, valueGzip)
		o.compress(ctx.Response.BodyWriter(), body)
	} else {
		ctx.Response.SetBody(body)
	}
	o.stats.bodyBytes.Add(uint64(len(ctx.Response.Body())))
}

// compress writes to memory, which never fails.
func (o *Origin) compress(w io.Writer, body []byte) {
	compressor := o.compressors.Get().(*gzip.Writer)
	compressor.Reset(w)
	_, _ = compressor.Write(body)
	_ = compressor.Close()
	o.compressors.Put(compressor)
}

// appendPath appends the path of a synthetic channel: its number and format.
func (o *Origin) appendPath(dst []byte, channel int) []byte {
	dst = strconv.AppendInt(append(dst, '/'), int64(channel), 10)
	return append(append(dst, '.'), o.content.Format(channel).String()...)
}

// parseChannel reads what appendPath wrote, in that spelling alone.
func (o *Origin) parseChannel(path []byte) (channel int, found bool) {
	if len(path) < 2 || path[0] != '/' || path[1] == '0' && path[2%len(path)] != '.' {
		return 0, false
	}
	i := 1
	for ; i < len(path) && '0' <= path[i] && path[i] <= '9'; i++ {
		if channel = channel*10 + int(path[i]-'0'); channel >= o.config.Channels {
			return 0, false
		}
	}
	if i == 1 || i == len(path) || path[i] != '.' || string(path[i+1:]) != o.content.Format(channel).String() {
		return 0, false
	}
	return channel, true
}
