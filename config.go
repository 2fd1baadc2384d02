package corona

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/internal/guard"
	"github.com/seed-91e7e7c1/corona/internal/steady"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// Config is what a node needs to know. The zero value of a field means its
// default.
type Config struct {
	Data   string // data directory; default "corona-data"
	Name   string // node name, 1 to 64 of A-Z a-z 0-9 . - _, the first a letter or digit; default: the one kept in Data, or a new one
	Listen string // where the node is reached, for the message of a second process on Data

	Ranges int // Raft groups, decided at the birth of Data, where another number is refused; default: what Data has, 16 at its birth

	Interval time.Duration // τ: how often a plain feed reader would poll; default 30m, 1s to 8760h
	Floor    time.Duration // shortest time between two polls of a channel; default 5m, 1ms to Interval

	// Policy, Ladder and Cost say what the rates of polls are solved for, as package
	// honeycomb has them; default: lite, any, polls.
	Policy honeycomb.Policy
	Ladder honeycomb.Ladder
	Cost   honeycomb.Cost
	Target time.Duration // mean wait of a change that policy fast is to reach; of it alone

	// Budget is the most that all polls of an Interval may cost, in polls or bytes;
	// default: what the subscribers would cause if each polled by itself.
	Budget      float64
	Maintenance time.Duration // between two solves of all rates; default 10m, 1s to 8760h

	// HostGap is the shortest time between two requests to a host; default: 1s, and
	// none for hosts that are private or loopback addresses. NoHostGap: none for any.
	HostGap      time.Duration
	HostParallel int // requests to a host at a time; default 2

	// DiskReserve is how many bytes of the file system of Data are kept for deletions
	// and for what must not fail, 4 MiB at least; default: a tenth of it, 1 GiB at most.
	DiskReserve uint64

	RetainBytes uint64 // updates kept for slow subscribers, in all; default 1 GiB

	Contact      string // URL or address for publishers, in the User-Agent
	Version      string // of the program, in the User-Agent and the status
	AllowPrivate bool   // poll and call private and loopback addresses

	Cluster ClusterConfig // the other nodes; default: none, a node alone

	Now      func() time.Time     // the clock of commits and judgements; default: the wall clock without leaps ahead that do not last a minute
	Logger   *slog.Logger         // default: discard
	Registry *prometheus.Registry // of one node at a time; default: one of the node's own
	Fatal    func(error)          // called when the disk can no longer be trusted; it should end the process; default: panic
}

// NoHostGap is a [Config.HostGap] for origins that have agreed to be asked at any
// pace.
const NoHostGap time.Duration = -1

const (
	defaultData         = "corona-data"
	maxRanges           = 1024
	defaultInterval     = 30 * time.Minute
	defaultFloor        = 5 * time.Minute
	minInterval         = time.Second
	maxSpan             = 365 * 24 * time.Hour // of any setting: sums of spans and clocks stay far from overflow
	minFloor            = time.Millisecond
	defaultMaintenance  = 10 * time.Minute
	maxBudget           = 1e18
	defaultPublicGap    = time.Second
	defaultHostParallel = 2
	defaultRetainBytes  = 1 << 30
)

// withDefaults returns the configuration with every zero field decided.
func (c Config) withDefaults() Config {
	set(&c.Data, defaultData)
	set(&c.Interval, defaultInterval)
	set(&c.Floor, min(defaultFloor, c.Interval))
	set(&c.Maintenance, defaultMaintenance)
	set(&c.HostParallel, defaultHostParallel)
	set(&c.RetainBytes, defaultRetainBytes)
	set(&c.Version, "unknown")
	c.Cluster = c.Cluster.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = steady.Clock(c.Logger)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Fatal == nil {
		c.Fatal = func(err error) { panic(err) }
	}
	return c
}

// hostGaps returns the gap of public hosts and that of private ones.
func (c Config) hostGaps() (public, private time.Duration) {
	switch c.HostGap {
	case 0:
		return defaultPublicGap, 0
	case NoHostGap:
		return 0, 0
	}
	return c.HostGap, c.HostGap
}

// hostGap returns the gap of a host, a name with port.
func (c Config) hostGap(host string) time.Duration {
	public, private := c.hostGaps()
	if guard.IsPrivate(host) {
		return private
	}
	return public
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// nodeName is what a node may be called, and its egress be labelled: names stand in
// URLs, file names, lists with commas, and metrics.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

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
		check(c.Name == "" || nodeName.MatchString(c.Name), "name %q: want 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first", c.Name),
		check(c.Interval >= minInterval && c.Interval <= maxSpan, "interval %s: want %s to %s", timespan.Setting(c.Interval), timespan.Setting(minInterval), timespan.Setting(maxSpan)),
		check(c.Floor >= minFloor, "floor %s: want %s at least", timespan.Setting(c.Floor), timespan.Setting(minFloor)),
		check(c.Floor <= c.Interval, "floor %s: want at most the interval, %s", timespan.Setting(c.Floor), timespan.Setting(c.Interval)),
		check(c.Policy <= honeycomb.FairLog && c.Cost <= honeycomb.Bytes, "policy %d, cost %d: unknown", c.Policy, c.Cost),
		check(isLadder(c.Ladder), "ladder %s: want any, prefix:BASE (from 2) or geometric:FACTOR (from 1.01)", c.Ladder),
		check(c.Policy != honeycomb.Fast || c.Target > 0, "policy fast: want a target, the mean wait of a change to reach"),
		check(c.Policy == honeycomb.Fast || c.Target == 0, "target %s: is for policy fast, not %s", timespan.Setting(c.Target), c.Policy),
		check(c.Target >= 0 && c.Target <= maxSpan, "target %s: want more than 0s, at most %s", timespan.Setting(c.Target), timespan.Setting(maxSpan)),
		check(c.Budget >= 0 && c.Budget <= maxBudget, "budget %v: want more than 0, at most %v", c.Budget, maxBudget),
		check(c.Maintenance >= time.Second && c.Maintenance <= maxSpan, "maintenance %s: want 1s to %s", timespan.Setting(c.Maintenance), timespan.Setting(maxSpan)),
		check(c.Ranges >= 0 && c.Ranges <= maxRanges, "ranges %d: want 1 to %d", c.Ranges, maxRanges),
		check(!strings.ContainsFunc(c.Contact, unicode.IsControl), "contact %q: control characters cannot be sent", c.Contact),
		check(c.HostGap >= 0 && c.HostGap <= maxSpan || c.HostGap == NoHostGap, "host gap %s: want 0s to %s", timespan.Setting(c.HostGap), timespan.Setting(maxSpan)),
		check(c.DiskReserve == 0 || c.DiskReserve >= volume.LeastReserve, "disk reserve %d: want %d bytes at least", c.DiskReserve, volume.LeastReserve),
		check(c.HostParallel >= 1, "host parallel %d: want 1 at least", c.HostParallel),
		c.Cluster.validate(),
	)
}

func isLadder(ladder honeycomb.Ladder) bool {
	_, err := honeycomb.ParseLadder(ladder.String())
	return err == nil
}
