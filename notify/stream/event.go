package stream

import (
	"log/slog"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

// event is what streams carry. Version is that of an update, or the one after
// which the channel is gone.
type event struct {
	kind    string         // api.StreamUpdate, …
	at      channel.Cursor // zero: moves no cursor
	after   place          // of the ranges' merge, with the event
	channel channel.ID
	gone    bool
	version uint64
	data    []byte // JSON
}

// updateEvent makes an event of an update. One that cannot be read becomes a gap.
func updateEvent(u channel.Update, log *slog.Logger) event {
	e := event{kind: api.StreamUpdate, at: u.Cursor(), channel: u.Channel, version: u.Version, gone: u.Gone}
	if u.Gone {
		e.kind = api.StreamGone
		e.data = payload.JSON(api.ChannelGone{Channel: u.Channel, URL: u.URL, Reason: payload.ReasonGone})
		return e
	}
	data, err := payload.Encode(u)
	if err != nil {
		log.Error("committed update is unreadable", "channel", u.Channel, "version", u.Version, "error", err)
		return gapEvent(e, channel.Gap{From: u.Version, To: u.Version}, payload.ReasonUnreadable)
	}
	e.data = data
	return e
}

func gapEvent(e event, gap channel.Gap, reason string) event {
	e.kind = api.StreamGap
	e.data = payload.JSON(api.ChannelGap{Channel: e.channel, From: gap.From, To: gap.To, Reason: reason})
	return e
}

func resetEvent(at place) event {
	return event{kind: api.StreamReset, at: at.base, data: []byte("{}")}
}
