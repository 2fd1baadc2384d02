package corona

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a node needs to know. The zero value of a field means its
// default.
type Config struct {
	Data   string // data directory; default "corona-data"
	Name   string // node name; default: the one kept in Data, or a new one
	Listen string // where the node is reached, for the message of a second process on Data

	Ranges int // Raft groups, decided at the birth of Data; default 16

	Interval time.Duration // τ: how often a plain feed reader would poll; default 30m, at least 1s
	Floor    time.Duration // shortest time between two polls of a channel; default 5m, at most Interval

	HostGap      time.Duration // shortest time between two requests to a host; 0: no gap
	HostParallel int           // requests to a host at a time; default 2

	RetainBytes uint64 // updates kept for slow subscribers, in all; default 1 GiB

	Contact      string // URL or address for publishers, in the User-Agent
	Version      string // of the program, in the User-Agent and the status
	AllowPrivate bool   // poll and call private and loopback addresses

	Now      func() time.Time     // the clock of commits and judgements; default: time.Now
	Logger   *slog.Logger         // default: discard
	Registry *prometheus.Registry // of one node at a time; default: one of the node's own
	Fatal    func(error)          // called once when the disk can no longer be trusted; default: panic
}

const (
	defaultData         = "corona-data"
	defaultRanges       = 16
	maxRanges           = 1024
	defaultInterval     = 30 * time.Minute
	defaultFloor        = 5 * time.Minute
	minInterval         = time.Second
	defaultHostParallel = 2
	defaultRetainBytes  = 1 << 30
)

// withDefaults returns the configuration with every zero field decided.
func (c Config) withDefaults() Config {
	set(&c.Data, defaultData)
	set(&c.Ranges, defaultRanges)
	set(&c.Interval, defaultInterval)
	set(&c.Floor, min(defaultFloor, c.Interval))
	set(&c.HostParallel, defaultHostParallel)
	set(&c.RetainBytes, defaultRetainBytes)
	set(&c.Version, "unknown")
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Fatal == nil {
		c.Fatal = func(err error) { panic(err) }
	}
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// ErrConfig says that a node was asked to be what it cannot be.
var ErrConfig = errors.New("configuration")

// Validate says what is wrong with a configuration whose defaults are decided.
func (c Config) Validate() error {
	check := func(ok bool, format string, args ...any) error {
		if ok {
			return nil
		}
		return fmt.Errorf(format, args...)
	}
	return errors.Join(
		check(c.Interval >= minInterval, "interval %s: want %s at least", c.Interval, minInterval),
		check(c.Floor > 0, "floor %s: want more than 0", c.Floor),
		check(c.Floor <= c.Interval, "floor %s: want at most the interval, %s", c.Floor, c.Interval),
		check(c.Ranges >= 1 && c.Ranges <= maxRanges, "ranges %d: want 1 to %d", c.Ranges, maxRanges),
		check(!strings.ContainsFunc(c.Contact, unicode.IsControl), "contact %q: control characters cannot be sent", c.Contact),
		check(c.HostGap >= 0, "host gap %s: want 0 or more", c.HostGap),
		check(c.HostParallel >= 1, "host parallel %d: want 1 at least", c.HostParallel),
	)
}
