package corona

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestHostGaps: public hosts have a gap unless it is taken away, private ones
// none unless it is asked for.
func TestHostGaps(t *testing.T) {
	for _, test := range []struct{ set, public, private time.Duration }{
		{0, time.Second, 0},
		{NoHostGap, 0, 0},
		{3 * time.Second, 3 * time.Second, 3 * time.Second},
	} {
		n := &Node{config: Config{HostGap: test.set}.withDefaults()}
		if err := n.config.Validate(); err != nil {
			t.Errorf("host gap %s: %v", test.set, err)
		}
		if public, private := n.config.hostGaps(); public != test.public || private != test.private {
			t.Errorf("host gap %s: %s for public hosts, %s for private ones; want %s and %s", test.set, public, private, test.public, test.private)
		}
	}
	if err := (Config{HostGap: -2}).withDefaults().Validate(); err == nil {
		t.Error("a host gap of -2ns is accepted")
	}
}

func TestNodeNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "a": true, "node-1a2b3c": true, "db7.Berlin_2": true, strings.Repeat("x", 64): true,
		"a b": false, "-a": false, ".": false, "a,b": false, "a/b": false, "ü": false, "a\n": false, strings.Repeat("x", 65): false,
	} {
		if err := (Config{Name: name}).withDefaults().Validate(); (err == nil) != ok {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

// TestPollConns: polling leaves the others their descriptors, and takes a quarter
// where there are too few for all.
func TestPollConns(t *testing.T) {
	for _, test := range []struct {
		limit uint64
		want  int
	}{{1 << 40, 10_488}, {20_000, 10_488}, {16_000, 6_488}, {10_240, 2_560}, {1_024, 256}, {2, 1}} {
		if got := pollConns(test.limit); got != test.want {
			t.Errorf("limit %d: %d connections, want %d", test.limit, got, test.want)
		}
	}
}

func TestIdleConn(t *testing.T) {
	for _, test := range []struct{ interval, want time.Duration }{
		{time.Second, 6 * time.Second},
		{time.Minute, 65 * time.Second},
		{70 * time.Second, 75 * time.Second},
		{71 * time.Second, 30 * time.Second},
		{30 * time.Minute, 30 * time.Second},
	} {
		if got := idleConn(test.interval); got != test.want {
			t.Errorf("interval %s: %s, want %s", test.interval, got, test.want)
		}
	}
}

// The share of a node is that of the buckets of the ranges that it leads.
func TestObserverShare(t *testing.T) {
	o := new(observer)
	low, high := channel.Range{To: 1023}, channel.Range{ID: 1, From: 1024, To: channel.Buckets - 1}
	for _, step := range []struct {
		do   func()
		want float64
	}{
		{func() {}, 0},
		{func() { o.RangeGained(low, 1) }, 0.25},
		{func() { o.RangeGained(high, 1) }, 1},
		{func() { o.RangeLost(low, 1) }, 0.75},
		{func() { o.RangeGained(low, 2) }, 1},
	} {
		if step.do(); o.share() != step.want {
			t.Errorf("share %v, want %v", o.share(), step.want)
		}
	}
}
