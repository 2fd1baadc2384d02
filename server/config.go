package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config is what a server can be told. The zero value of a field means its
// default.
type Config struct {
	// AllowPrivate accepts private and loopback addresses as channels and sinks.
	AllowPrivate bool
	// Tokens are what requests need; none: every client that reaches the API can use it.
	Tokens Tokens

	// CallTimeout bounds the node's part of a call; default 4.5 s, so that the
	// contract's 503 is with the client within 5 s.
	CallTimeout time.Duration
	// TestTimeout bounds the test of a sink, whose endpoint may take 30 s;
	// default 35 s.
	TestTimeout time.Duration
	// HeaderTimeout bounds the reading of a request's header; default 5 s.
	HeaderTimeout time.Duration
	// ReadTimeout bounds the reading of a whole request, and the silence of a
	// batch; default 30 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds the writing of an answer, and each write of a stream or
	// batch; default 30 s.
	WriteTimeout time.Duration
	// IdleTimeout bounds the rest of a connection between requests; default 90 s.
	IdleTimeout time.Duration
	// StopTimeout bounds the end of requests when Run stops; default 10 s.
	StopTimeout time.Duration
	// Heartbeat is the time between the comments of a stream; default 15 s.
	Heartbeat time.Duration

	MaxConns   int // open connections, one more ends the oldest that waits for its client; default 3072
	MaxStreams int // open streams, one more ends the first whose client is slow, or is answered 503; default 2048
	MaxBatches int // running batches, likewise; default 16

	Logger *slog.Logger // default: discard
}

const (
	maxHeader = 32 << 10 // bytes of a request's header, so also of its URL
	maxBody   = 64 << 10 // bytes of a JSON body, or of a line of NDJSON
)

func (c Config) withDefaults() Config {
	set(&c.CallTimeout, 4500*time.Millisecond)
	set(&c.TestTimeout, 35*time.Second)
	set(&c.HeaderTimeout, 5*time.Second)
	set(&c.ReadTimeout, 30*time.Second)
	set(&c.WriteTimeout, 30*time.Second)
	set(&c.IdleTimeout, 90*time.Second)
	set(&c.StopTimeout, 10*time.Second)
	set(&c.Heartbeat, 15*time.Second)
	set(&c.MaxConns, 3072)
	set(&c.MaxStreams, 2048)
	set(&c.MaxBatches, 16)
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
	for name, d := range map[string]time.Duration{
		"call": c.CallTimeout, "test": c.TestTimeout, "header": c.HeaderTimeout, "read": c.ReadTimeout,
		"write": c.WriteTimeout, "idle": c.IdleTimeout, "stop": c.StopTimeout,
	} {
		if d < 0 {
			wrong = append(wrong, fmt.Errorf("%s timeout %s: want more than 0", name, d))
		}
	}
	if c.Heartbeat < 0 {
		wrong = append(wrong, fmt.Errorf("heartbeat %s: want more than 0", c.Heartbeat))
	}
	for name, n := range map[string]int{"connections": c.MaxConns, "streams": c.MaxStreams, "batches": c.MaxBatches} {
		if n < 0 {
			wrong = append(wrong, fmt.Errorf("most %s %d: want at least 1", name, n))
		}
	}
	return errors.Join(wrong...)
}
