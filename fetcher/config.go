package fetcher

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Config says how a [Fetcher] behaves. The zero value polls public addresses with
// the defaults below.
type Config struct {
	// Version and Contact name us to origins: "Corona/Version (+Contact)", or with
	// [Request.Subscribers] "Corona/Version (+Contact; 42 subscribers)". Contact is a
	// URL or an address where a webmaster finds who is responsible. Empty: left out.
	Version, Contact string

	// AllowPrivate lets it call loopback, private and special-purpose addresses.
	// The ports of [guard.ForbiddenPort] stay forbidden.
	AllowPrivate bool

	// Timeout bounds a whole fetch: waiting for a connection, DNS, connecting, TLS,
	// head and body. 0: 30 s.
	Timeout time.Duration

	// MaxBody is the largest body, in bytes, on the wire as well as decoded. 0: 8 MiB.
	MaxBody int

	// MaxHeader is the largest head of a response, in bytes: status line, fields and
	// trailers. 0: 64 KiB.
	MaxHeader int

	// MaxRedirects is how long [Request.Trail] may become: how many redirects lead on
	// from where a caller began. 0: 5.
	MaxRedirects int

	// MaxConns is how many connections may be open at a time, over all hosts, busy,
	// idle or being dialled: this package's share of the process's file descriptors.
	// An idle connection makes room for a new one; when all are busy, fetches wait.
	// 0: 8192.
	MaxConns int

	// MaxConnsPerHost is how many connections may be open to one origin: no one
	// takes more than this of MaxConns. Fetches beyond it wait for their turn. How many
	// at a time an origin likes is the caller's question, not this one's. 0: 64.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long a connection is kept for its host's next poll.
	// Keeping it beyond the polling interval gains nothing. 0: 60 s.
	MaxIdleConnDuration time.Duration

	// MaxInFlight is the memory, in bytes, of all bodies beyond 64 KiB between their
	// arrival and their Release, as they come and decoded. What is announced, or reserved
	// before, waits for it; else what does not fit fails, with class Busy. One response may
	// hold four fifths of it, those of one host together half. 0: twice MaxBody.
	MaxInFlight int

	// MaxNames is how many hosts' addresses are kept, about 400 bytes each. 0: 32,768.
	MaxNames int

	// MaxLookups is how many hosts may be looked up at a time, with two descriptors
	// each. 0: 256.
	MaxLookups int

	// MaxSessions is how many hosts' TLS sessions are kept for the next handshake, 3 to
	// 5 KiB each. 0: 16,384.
	MaxSessions int

	// RootCAs are the authorities that TLS certificates may come from. nil: the
	// system's.
	RootCAs *x509.CertPool

	// Resolver looks names up. nil: Go's own resolver on the system's settings: it
	// honours deadlines and holds no thread, where the C library's does not.
	Resolver *net.Resolver

	// Dial, when set, replaces resolver and dialler, and with them the check of the
	// address really dialled. It is for connections in memory.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// withDefaults returns c with its zero fields filled in, or an error that names
// the first field that cannot be.
func (c Config) withDefaults() (Config, error) {
	fill(&c.Timeout, 30*time.Second)
	fill(&c.MaxBody, 8<<20)
	fill(&c.MaxHeader, 64<<10)
	fill(&c.MaxRedirects, 5)
	fill(&c.MaxConns, 8192)
	fill(&c.MaxConnsPerHost, 64)
	fill(&c.MaxIdleConnDuration, time.Minute)
	fill(&c.MaxInFlight, 2*c.MaxBody)
	fill(&c.MaxNames, 32<<10)
	fill(&c.MaxLookups, 256)
	fill(&c.MaxSessions, 16<<10)
	if c.Resolver == nil {
		c.Resolver = &net.Resolver{PreferGo: true}
	}
	return c, c.validate()
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	switch {
	case c.Timeout < 0:
		return fmt.Errorf("fetcher: Timeout %s is negative", c.Timeout)
	case c.MaxIdleConnDuration < 0:
		return fmt.Errorf("fetcher: MaxIdleConnDuration %s is negative", c.MaxIdleConnDuration)
	case min(c.MaxBody, c.MaxHeader, c.MaxRedirects, c.MaxConns, c.MaxConnsPerHost, c.MaxInFlight, c.MaxNames, c.MaxLookups, c.MaxSessions) < 0:
		return errors.New("fetcher: a limit is negative")
	case strings.ContainsFunc(c.userAgent(), notPrintable):
		return fmt.Errorf("fetcher: Version %q or Contact %q cannot stand in a User-Agent", c.Version, c.Contact)
	}
	return nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

func (c Config) product() string {
	if c.Version == "" {
		return "Corona"
	}
	return "Corona/" + c.Version
}

func (c Config) userAgent() string {
	if c.Contact == "" {
		return c.product()
	}
	return c.product() + " (+" + c.Contact + ")"
}
