package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// The limits on what a subscription may carry, in bytes.
const (
	maxKey    = 255
	minSecret = 24 // Standard Webhooks: decoded
	maxSecret = 64
)

const secretPrefix = "whsec_"

// Rules say which subscriptions are accepted.
type Rules struct {
	AllowPrivate bool // accept private and loopback addresses
}

// Check returns the request as a node keeps it, with canonical URLs. The error
// is a 400 that names the field.
func (r Rules) Check(request api.SubscribeRequest) (api.SubscribeRequest, error) {
	return r.check(request, r.checkSink)
}

// check is Check with another's way to check sinks.
func (r Rules) check(request api.SubscribeRequest, checkSink func(api.Sink) (api.Sink, error)) (api.SubscribeRequest, error) {
	var err error
	if request.URL, err = r.checkURL("url", request.URL); err != nil {
		return request, err
	}
	if request.Sink, err = checkSink(request.Sink); err != nil {
		return request, err
	}
	if request.Once && request.Key != "" {
		return request, api.BadField("once", "a request has a key, or is to be made once")
	}
	return request, checkKey("key", request.Key)
}

func (r Rules) checkURL(field, raw string) (canonical string, err error) {
	if raw == "" {
		return "", api.BadField(field, "missing")
	}
	canonical, err = channel.Canonical(raw)
	if wrong := (*channel.URLError)(nil); errors.As(err, &wrong) {
		return "", api.BadField(field, wrong.Reason)
	}
	if err != nil {
		return "", api.BadField(field, err.Error())
	}
	if err := guard.CheckURL(canonical, r.AllowPrivate); err != nil {
		return "", api.BadField(field, err.Error()+r.hint(canonical))
	}
	return canonical, nil
}

// hint says how a private address becomes allowed: a newcomer who tries Corona on
// a private server needs to know.
func (r Rules) hint(canonical string) string {
	if r.AllowPrivate || guard.CheckURL(canonical, true) != nil {
		return ""
	}
	return "; a node started with --allow-private takes it"
}

func (r Rules) checkSink(sink api.Sink) (api.Sink, error) {
	switch sink.Type {
	case api.SinkSSE:
		return sink, checkBare(sink)
	case api.SinkWebhook:
		return r.checkWebhook(sink)
	case "":
		return sink, api.BadField("sink.type", "missing: want sse or webhook")
	case "xmpp", "feed":
		return sink, api.BadField("sink.type", "this version delivers to sse and webhook sinks")
	default:
		return sink, api.BadField("sink.type", fmt.Sprintf("%q: want sse or webhook", clip(sink.Type)))
	}
}

// checkBare refuses what a sink without an endpoint would ignore.
func checkBare(sink api.Sink) error {
	if sink.URL != "" {
		return api.BadField("sink.url", "an sse sink has none: its updates are read from /v1/updates")
	}
	if sink.Secret != "" {
		return api.BadField("sink.secret", "an sse sink has none")
	}
	return nil
}

func (r Rules) checkWebhook(sink api.Sink) (api.Sink, error) {
	if u, err := url.Parse(sink.URL); err == nil && strings.EqualFold(u.Scheme, "feed") {
		return sink, api.BadField("sink.url", "a webhook is called over http or https")
	}
	var err error
	if sink.URL, err = r.checkURL("sink.url", sink.URL); err != nil {
		return sink, err
	}
	return sink, checkSecret(sink.Secret)
}

// checkSecret accepts what Standard Webhooks signs with. It never repeats any of it.
func checkSecret(secret string) error {
	if secret == "" {
		return nil
	}
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return api.BadField("sink.secret", "want "+secretPrefix+" and base64")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return api.BadField("sink.secret", "not base64 (with padding) after "+secretPrefix)
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return api.BadField("sink.secret", fmt.Sprintf("%d bytes: want %d to %d", len(key), minSecret, maxSecret))
	}
	return nil
}

// checkKey accepts an idempotency key, or none.
func checkKey(field, key string) error {
	if len(key) > maxKey {
		return api.BadField(field, fmt.Sprintf("longer than %d bytes", maxKey))
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return api.BadField(field, "want printable ASCII")
		}
	}
	return nil
}
