package notify

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

// Config is what a [Notifier] needs to know. The zero value of a field means its
// default.
type Config struct {
	Webhook webhook.Config
	Stream  stream.Config
	Logger  *slog.Logger // default: discard
}

func (c Config) withDefaults() Config {
	c.Webhook, c.Stream = c.Webhook.WithDefaults(), c.Stream.WithDefaults()
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns what is wrong with a configuration whose defaults are decided.
func (c Config) Validate() error { return errors.Join(c.Webhook.Validate(), c.Stream.Validate()) }
