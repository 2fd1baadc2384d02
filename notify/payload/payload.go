// Package payload encodes what both kinds of sink send: an update as the contract
// has it, once for all subscribers, and the reasons that gaps and notices carry.
package payload

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// The reasons that gaps and notices carry.
const (
	ReasonRetention  = "the updates are no longer kept"
	ReasonSuspended  = "the endpoint did not answer for as long as updates are tried"
	ReasonUnreadable = "the update cannot be read"
	ReasonGone       = "the origin answered 410 Gone"
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

// head is what of an [api.Update] is not in what was committed of it.
type head struct {
	Channel    channel.ID `json:"channel"`
	URL        string     `json:"url"`
	Version    uint64     `json:"version"`
	Previous   uint64     `json:"previous"`
	DetectedAt time.Time  `json:"detected_at"`
}

// Encode returns the JSON of an update's [View], on one line. What was committed is put
// behind the head as it is: every update comes here on each node that has a stream, and
// decoding it and encoding it again takes six times as long.
func Encode(u channel.Update) ([]byte, error) {
	committed, err := deltas.UpdateJSON(u.Data)
	if err != nil {
		return nil, fmt.Errorf("decode update %d of channel %s: %w", u.Version, u.Channel, err)
	}
	out := JSON(head{u.Channel, u.URL, u.Version, u.Version - 1, u.At.UTC()})
	out[len(out)-1] = ','
	return append(out, committed[1:]...), nil
}

// JSON is json.Marshal for values that it cannot fail on: the contract's own types
// with strings, numbers and times of our era. It panics on others.
func JSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return out
}
