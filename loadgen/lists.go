package loadgen

import (
	"bufio"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// serveChannels lists the URLs of all channels, one a line.
func (o *Origin) serveChannels(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		var line []byte
		for n := range o.Channels() {
			line = append(o.appendURL(line[:0], n), '\n')
			if _, err := w.Write(line); err != nil {
				return // the client is gone, and that is its own affair
			}
		}
	})
}

// serveTruth lists what has changed so far, as NDJSON, channel by channel and
// within a channel in order. What stood at the start, revision 1, is no change.
func (o *Origin) serveTruth(ctx *fasthttp.RequestCtx) {
	now := o.config.Now()
	ctx.SetContentType("application/x-ndjson")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		var line []byte
		for n := range o.Channels() {
			s := o.standing(n, now)
			last := s.revision
			for s.revision = 2; s.revision <= last; s.revision++ {
				line = o.appendTruth(line[:0], n, &s)
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}
	})
}

// servePolls lists how often each channel was asked for so far, whatever was
// answered, as NDJSON; those that never were are left out.
func (o *Origin) servePolls(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/x-ndjson")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		var line []byte
		for n := range o.polls {
			polls := o.polls[n].Load()
			if polls == 0 {
				continue
			}
			line = o.appendURL(append(line[:0], `{"url":"`...), n)
			line = strconv.AppendUint(append(line, `","polls":`...), uint64(polls), 10)
			if _, err := w.Write(append(line, "}\n"...)); err != nil {
				return
			}
		}
	})
}

// standing returns what channel n shows.
func (o *Origin) standing(n int, now time.Time) shown {
	if n < len(o.replays) {
		r := o.replays[n]
		return shown{replay: r, revision: r.Revision(o.clockOf(r).at(now))}
	}
	channel := n - len(o.replays)
	return shown{channel: channel, revision: o.changes.revision(channel, o.clock.at(now))}
}

func (o *Origin) appendTruth(dst []byte, n int, s *shown) []byte {
	dst = append(dst, `{"url":"`...)
	dst = o.appendURL(dst, n)
	dst = append(dst, `","revision":`...)
	dst = strconv.AppendInt(dst, s.revision, 10)
	dst = append(dst, `,"changed_at":"`...)
	dst = o.changedAt(s).UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, "\"}\n"...)
}
