package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// message is a webhook's body with its ID. Who has it has everything before next.
type message struct {
	kind      string // api.MessageUpdated, …
	id        string
	body      []byte
	committed time.Time // of an update
	next      step
}

// The reasons that gaps and notices carry.
const (
	reasonRetention  = "the updates are no longer kept"
	reasonSuspended  = "the endpoint did not answer for as long as updates are tried"
	reasonUnreadable = "the update cannot be read"
	reasonGone       = "the origin answered 410 Gone"
)

// View returns an update as the contract has it.
func View(u channel.Update) (*api.Update, error) {
	decoded, err := deltas.DecodeUpdate(u.Data)
	if err != nil {
		return nil, fmt.Errorf("decode update %d of channel %s: %w", u.Version, u.Channel, err)
	}
	return &api.Update{
		Channel:    u.Channel,
		URL:        u.URL,
		Version:    u.Version,
		Previous:   u.Version - 1,
		DetectedAt: u.At.UTC(),
		Kind:       decoded.Kind.String(),
		Entries:    decoded.Entries,
		Diff:       decoded.Diff,
		DeltaBytes: decoded.DeltaBytes,
		Truncated:  decoded.Truncated,
		Masked:     decoded.Masked,
	}, nil
}

// encodeUpdate returns the JSON of an update's view.
func encodeUpdate(u channel.Update) ([]byte, error) {
	view, err := View(u)
	if err != nil {
		return nil, err
	}
	return json.Marshal(view)
}

// updateMessage puts an encoded update, which all subscribers share, into the
// message for one: what json.Marshal makes of an [api.Message].
func updateMessage(sub channel.Subscription, u channel.Update, encoded []byte) message {
	var body bytes.Buffer
	body.Grow(len(encoded) + 200)
	body.WriteString(`{"type":"` + api.MessageUpdated + `","timestamp":`)
	body.Write(quoted(u.At.UTC()))
	body.WriteString(`,"data":{"subscription":`)
	body.Write(quoted(sub.ID))
	body.WriteByte(',')
	body.Write(encoded[1:])
	body.WriteByte('}')
	return message{
		kind:      api.MessageUpdated,
		id:        messageID(sub, strconv.FormatUint(u.Version, 10)),
		body:      body.Bytes(),
		committed: u.At,
		next:      goneStep(u.Version),
	}
}

func gapMessage(sub channel.Subscription, gap channel.Gap, reason string, now time.Time) message {
	return message{
		kind: api.MessageGap,
		id:   messageID(sub, fmt.Sprintf("gap-%d-%d", gap.From, gap.To)),
		body: wrap(api.MessageGap, now, api.ChannelGap{
			Subscription: sub.ID, Channel: sub.Channel, From: gap.From, To: gap.To, Reason: reason,
		}),
		next: goneStep(gap.To),
	}
}

func goneMessage(sub channel.Subscription, at step, now time.Time) message {
	return message{
		kind: api.MessageGone,
		id:   messageID(sub, fmt.Sprintf("gone-%d", at.version())),
		body: wrap(api.MessageGone, now, api.ChannelGone{
			Subscription: sub.ID, Channel: sub.Channel, URL: sub.URL, Reason: reasonGone,
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
	return quoted(api.Message{Type: kind, Timestamp: now.UTC().Truncate(time.Millisecond), Data: data})
}

// quoted is json.Marshal for values that it cannot fail on: this package's own
// strings, numbers and times of our era.
func quoted(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return out
}
