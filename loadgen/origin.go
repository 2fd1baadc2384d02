// Package loadgen is Corona's load generator: content servers whose updates are
// known in advance. It is a black box: it knows the contract, not the node.
//
// An [Origin] serves synthetic channels and replays of recorded histories. What a
// channel shows at any instant follows from the seed by arithmetic, so a million
// channels take no memory, a poll that ends in 304 takes no allocation, and the
// truth, what changed when, can be told afterwards to the nanosecond.
package loadgen

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// DefaultListen is where an origin listens unless told otherwise.
const DefaultListen = "127.0.0.1:9100"

// Limits of a [Config].
const (
	MaxChannels = 100_000_000
	MaxHosts    = 10_000
	maxSpeedup  = 1e6
	minRate     = 1e-3
	maxRate     = 1e6
	minSpeedup  = 1e-3
)

// Config says what an origin serves.
type Config struct {
	// Listen is the address of the first host, within 127.0.0.0/8; port 0 takes a
	// free one. Empty: DefaultListen. Host number h has the h-th address after it,
	// and the same port.
	Listen string
	// Given says that Listen is where the one host listens already, at whatever address of IPv4:
	// its listener is given to [Origin.Serve].
	Given bool
	// Hosts is the number of hosts, up to MaxHosts; 0 means 1. Channel number n
	// lives on host n modulo Hosts.
	Hosts int
	// Channels is the number of synthetic channels; 0 means none.
	Channels int
	// Seed decides what the synthetic channels show and when they change.
	Seed uint64
	// Speedup is how many times as fast the schedule and the replays run; 0 means 1.
	Speedup float64
	// Traces are recorded histories that the first host replays, from the
	// origin's start.
	Traces []TraceConfig
	// Step is how long each capture of a trace stands, in real time, whatever
	// times were recorded and whatever Speedup is. 0: as recorded.
	Step time.Duration
	// MaxAge is for how long documents stay fresh, as Cache-Control tells, in whole
	// seconds; 0: nothing is told. They change all the same.
	MaxAge time.Duration
	// MaxRate is how many requests a second a host takes; what is more is answered
	// 429, and so is all that comes within RetryAfter of that. 0: any number.
	MaxRate float64
	// RetryAfter is how long a host wants to be left alone then; 0 means 1 min.
	RetryAfter time.Duration
	// Daily has more change by day than by night, in the schedule's time: the start is
	// midnight.
	Daily bool
	// History is a file as [ReadTraceFile] reads it, or a folder of them: synthetic channels
	// change when the documents in it did. Empty: by the survey's intervals.
	History string
	// TLS has hosts serve with certificates of an authority of their own ([Origin.CA]).
	TLS bool
	// Window, if it is not 0, has synthetic channels be feeds of so many entries to which entries
	// are added, and nothing else happens; see [Content].
	Window int
	// Dated says which channels have no ETag, but tell the date of their last change once its
	// second is over; nil: none.
	Dated func(n int) bool
	// Still leaves synthetic channels as they stood at the start; [Origin.Change] changes
	// them all the same.
	Still bool
	// Faults are what is wrong with hosts and channels.
	Faults Faults
	// Observe is told of each poll right before its answer is sent, by many goroutines;
	// nil: not called.
	Observe func(Poll)
	// Audit is told of each request when it has been answered, by many goroutines, for
	// [originaudit.Audit]; nil: not called.
	Audit func(originaudit.Exchange)
	// Start is when the schedule's time is 0. Zero: when NewOrigin is done.
	Start time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what goes wrong with connections; nil means slog.Default().
	Logger *slog.Logger
}

// TraceConfig names a recorded history and where to show it.
type TraceConfig struct {
	File string // as ReadTraceFile reads it
	Path string // begins with "/", not with "/_"
}

// validate completes the configuration and returns the first host's address.
func (c *Config) validate() (netip.AddrPort, error) {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Hosts == 0 {
		c.Hosts = 1
	}
	if c.Speedup == 0 {
		c.Speedup = 1
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.Channels < 0 || c.Channels > MaxChannels:
		return netip.AddrPort{}, fmt.Errorf("%d channels: want 0 to %d", c.Channels, MaxChannels)
	case c.Hosts < 1 || c.Hosts > MaxHosts:
		return netip.AddrPort{}, fmt.Errorf("%d hosts: want 1 to %d", c.Hosts, MaxHosts)
	case math.IsNaN(c.Speedup) || c.Speedup < minSpeedup || c.Speedup > maxSpeedup:
		return netip.AddrPort{}, fmt.Errorf("speedup %g: want %g to %g", c.Speedup, minSpeedup, maxSpeedup)
	case c.Step < 0:
		return netip.AddrPort{}, fmt.Errorf("step %s is negative", c.Step)
	case c.MaxAge < 0 || c.MaxAge%time.Second != 0:
		return netip.AddrPort{}, fmt.Errorf("max age %s: want whole seconds", c.MaxAge)
	case math.IsNaN(c.MaxRate) || c.MaxRate != 0 && (c.MaxRate < minRate || c.MaxRate > maxRate):
		return netip.AddrPort{}, fmt.Errorf("max rate %g: want %g to %g requests a second", c.MaxRate, minRate, maxRate)
	case c.RetryAfter < 0 || c.RetryAfter%time.Second != 0:
		return netip.AddrPort{}, fmt.Errorf("retry after %s: want whole seconds", c.RetryAfter)
	case c.Channels == 0 && len(c.Traces) == 0:
		return netip.AddrPort{}, errors.New("nothing to serve: neither channels nor traces")
	}
	if err := c.Faults.validate(); err != nil {
		return netip.AddrPort{}, err
	}
	if c.Given {
		return netip.ParseAddrPort(c.Listen)
	}
	return parseListen(c.Listen, c.Hosts)
}

// Origin is a set of content servers on loopback addresses.
type Origin struct {
	config    Config
	content   Content
	clock     clock // of the schedule
	step      clock // real time, for replays by steps
	base      netip.AddrPort
	replays   []*replay
	paths     map[string]*replay
	stats     counters
	limits    *limits // nil: none
	changes   changes // of synthetic channels
	troubles  *troubles
	authority *authority      // nil: no TLS
	polls     []atomic.Uint32 // requests by channel, replays first

	cacheControl []byte // empty: none

	buffers     sync.Pool // of *[]byte: documents before they are compressed
	compressors sync.Pool // of *gzip.Writer
}

// replay is a trace at its place.
type replay struct {
	Replay
	number int // among the origin's channels
	path   string
	tags   []uint64 // per capture
}

// NewOrigin reads the traces and returns an origin that does not listen yet. Its
// schedule starts now, unless Config.Start says otherwise.
func NewOrigin(config Config) (*Origin, error) {
	base, err := config.validate()
	if err != nil {
		return nil, fmt.Errorf("origin: %w", err)
	}
	o := &Origin{config: config, content: Content{Schedule{config.Seed}, config.Window}, base: base, paths: make(map[string]*replay)}
	o.changes.schedule, o.changes.still = o.content.Schedule, config.Still
	if config.History != "" {
		if o.changes.history, err = readHistory(config.History); err != nil {
			return nil, fmt.Errorf("origin: %w", err)
		}
	}
	if config.TLS {
		if o.authority, err = newAuthority(config.Now()); err != nil {
			return nil, fmt.Errorf("origin: %w", err)
		}
	}
	o.limits = newLimits(config.Hosts, config.MaxRate, config.RetryAfter)
	if config.MaxAge > 0 {
		o.cacheControl = appendSeconds([]byte("max-age="), config.MaxAge)
	}
	o.buffers.New = func() any { return new([]byte) }
	o.compressors.New = func() any {
		compressor, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for unknown levels
		return compressor
	}
	for _, trace := range config.Traces {
		if err := o.addTrace(trace); err != nil {
			return nil, fmt.Errorf("origin: %w", err)
		}
	}
	start := config.Start
	if start.IsZero() {
		start = config.Now()
	}
	o.troubles = newTroubles(config.Faults, config.Hosts, o.content.Schedule, start)
	o.polls = make([]atomic.Uint32, o.Channels())
	o.clock, o.step = clock{start: start, speedup: config.Speedup}, clock{start: start, speedup: 1}
	if config.Daily {
		o.clock.daily = newsDay
	}
	return o, nil
}

// ttl is how long an RSS feed asks to be left alone: in the time that was recorded, not in steps.
var ttl = regexp.MustCompile(`<ttl>[^<]*</ttl>`)

func (o *Origin) addTrace(config TraceConfig) error {
	_, synthetic := o.parseChannel([]byte(config.Path))
	switch {
	case !strings.HasPrefix(config.Path, "/") || strings.HasPrefix(config.Path, "/_") || strings.ContainsAny(config.Path, "?# "):
		return fmt.Errorf("trace path %q: want one that begins with / but not with /_, without a query", config.Path)
	case synthetic:
		return fmt.Errorf("trace path %q is a synthetic channel's", config.Path)
	case o.paths[config.Path] != nil:
		return fmt.Errorf("trace path %q is given twice", config.Path)
	}
	trace, err := ReadTraceFile(config.File)
	if err != nil {
		return err
	}
	r := &replay{Replay: Replay{trace, o.config.Step}, number: len(o.replays), path: config.Path}
	for i := range trace.Captures {
		capture := &trace.Captures[i]
		if r.Step > 0 {
			capture.Body = ttl.ReplaceAll(capture.Body, nil)
		}
		r.tags = append(r.tags, xxhash.Sum64(capture.Body))
	}
	o.replays, o.paths[config.Path] = append(o.replays, r), r
	return nil
}

// Channels returns the number of channels, replays included.
func (o *Origin) Channels() int { return len(o.replays) + o.config.Channels }

// URL returns the address of channel n, 0 to Channels()-1: replays come first,
// in the order of Config.Traces.
func (o *Origin) URL(n int) string { return string(o.appendURL(nil, n)) }

func (o *Origin) appendURL(dst []byte, n int) []byte {
	dst = append(dst, o.scheme()...)
	if n < len(o.replays) {
		return append(o.base.AppendTo(dst), o.replays[n].path...)
	}
	n -= len(o.replays)
	dst = hostAddress(o.base, n%o.config.Hosts).AppendTo(dst)
	return o.appendPath(dst, n)
}

func (o *Origin) scheme() string {
	if o.authority != nil {
		return "https://"
	}
	return "http://"
}

// Stats is what an origin did so far.
type Stats struct {
	Requests    uint64 // for channels, whatever the answer
	Full        uint64 // answered 200
	NotModified uint64 // answered 304
	BodyBytes   uint64 // sent in answers with 200, as compressed
	Refused     uint64 // answered 429
	Early       uint64 // of the refused: came, knowing better, within RetryAfter of a refusal
	Lies        uint64 // answers whose dates are wrong
}

// Stats returns what the origin did so far.
func (o *Origin) Stats() Stats { return o.stats.read() }
