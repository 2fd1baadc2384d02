package notify

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config is what a [Notifier] needs to know. The zero value of a field means its
// default.
type Config struct {
	// Epoch is the cluster's identity as cursors carry it: a cursor of another
	// epoch gets a reset. Required.
	Epoch uint64
	// UserAgent is sent with every webhook; default "Corona".
	UserAgent string
	// AllowPrivate lets webhooks go to private and loopback addresses.
	AllowPrivate bool
	// Timeout bounds one webhook's whole exchange; default 30 s.
	Timeout time.Duration

	// EndpointParallel is how many requests one endpoint gets at a time; default 8.
	EndpointParallel int
	// Parallel is how many requests are under way in all that began less than a
	// second ago; default 512.
	Parallel int
	// SlowParallel is how many more are under way that took longer; default 1024.
	SlowParallel int
	// MaxLanes bounds the subscriptions that have a message in memory, waiting or
	// under way; default 32768. Others wait in the store.
	MaxLanes int
	// TailBytes bounds the newest events kept in memory for streams; default 8 MiB.
	// Slower readers read from the store.
	TailBytes int

	Logger *slog.Logger // default: discard
}

func (c Config) withDefaults() Config {
	set(&c.UserAgent, "Corona")
	set(&c.Timeout, 30*time.Second)
	set(&c.EndpointParallel, 8)
	set(&c.Parallel, 512)
	set(&c.SlowParallel, 1024)
	set(&c.MaxLanes, 32768)
	set(&c.TailBytes, 8<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate says what is wrong with a configuration whose defaults are decided.
func (c Config) Validate() error {
	var wrong []error
	if c.Epoch == 0 {
		wrong = append(wrong, errors.New("epoch: missing"))
	}
	if c.Timeout < 0 {
		wrong = append(wrong, fmt.Errorf("timeout %s: want more than 0", c.Timeout))
	}
	for name, n := range map[string]int{
		"requests of an endpoint": c.EndpointParallel, "requests": c.Parallel, "slow requests": c.SlowParallel,
		"subscriptions in memory": c.MaxLanes, "bytes of newest events": c.TailBytes,
	} {
		if n < 1 {
			wrong = append(wrong, fmt.Errorf("most %s %d: want at least 1", name, n))
		}
	}
	return errors.Join(wrong...)
}
