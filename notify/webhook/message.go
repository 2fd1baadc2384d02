package webhook

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// message is a webhook's body with its ID. A subscription that has it has everything
// before next.
type message struct {
	kind      string // api.MessageUpdated, …
	id        string
	body      []byte
	committed time.Time // of an update
	next      position.Step
}

// updateMessage puts an encoded update, which all subscribers share, into the
// message for one: what json.Marshal makes of an [api.Message].
func updateMessage(sub channel.Subscription, u payload.Encoded) message {
	var body bytes.Buffer
	body.Grow(len(u.JSON) + 200)
	body.WriteString(`{"type":"` + api.MessageUpdated + `","timestamp":`)
	body.Write(payload.JSON(u.At.UTC()))
	body.WriteString(`,"data":{"subscription":`)
	body.Write(payload.JSON(sub.ID))
	body.WriteByte(',')
	body.Write(u.JSON[1:])
	body.WriteByte('}')
	return message{
		kind:      api.MessageUpdated,
		id:        messageID(sub, strconv.FormatUint(u.Version, 10)),
		body:      body.Bytes(),
		committed: u.At,
		next:      position.GoneStep(u.Version),
	}
}

func gapMessage(sub channel.Subscription, gap channel.Gap, reason string, now time.Time) message {
	return message{
		kind: api.MessageGap,
		id:   messageID(sub, fmt.Sprintf("gap-%d-%d", gap.From, gap.To)),
		body: wrap(api.MessageGap, now, api.ChannelGap{
			Subscription: sub.ID, Channel: sub.Channel, From: gap.From, To: gap.To, Reason: reason,
		}),
		next: position.GoneStep(gap.To),
	}
}

func goneMessage(sub channel.Subscription, at position.Step, now time.Time) message {
	return message{
		kind: api.MessageGone,
		id:   messageID(sub, fmt.Sprintf("gone-%d", at.Version())),
		body: wrap(api.MessageGone, now, api.ChannelGone{
			Subscription: sub.ID, Channel: sub.Channel, URL: sub.URL, Reason: payload.ReasonGone,
		}),
		next: at + 1,
	}
}

func testMessage(sub channel.Subscription, now time.Time) message {
	return message{
		kind: api.MessageTest,
		id:   messageID(sub, fmt.Sprintf("test-%d", now.UnixMicro())),
		body: wrap(api.MessageTest, now, api.TestData{Subscription: sub.ID, Channel: sub.Channel, URL: sub.URL}),
	}
}

// messageID is the same whenever the same is sent again.
func messageID(sub channel.Subscription, what string) string { return sub.ID + "-" + what }

func wrap(kind string, now time.Time, data any) []byte {
	return payload.JSON(api.Message{Type: kind, Timestamp: now.UTC().Truncate(time.Millisecond), Data: data})
}
