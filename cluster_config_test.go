package corona

import (
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestClusterConfig: which settings a node of a cluster, and a node alone, may have.
func TestClusterConfig(t *testing.T) {
	loopback := ClusterConfig{Address: "127.0.0.1:8411", Gossip: "127.0.0.1:8412"}
	public := ClusterConfig{Address: "10.0.0.1:8411", Gossip: "n1.example:8412"}
	with := func(c ClusterConfig, change func(*ClusterConfig)) ClusterConfig {
		change(&c)
		return c
	}
	for _, test := range []struct {
		name   string
		config ClusterConfig
		want   string // part of the error; "": valid
	}{
		{"a node alone", ClusterConfig{}, ""},
		{"a node alone, insecure", ClusterConfig{Insecure: true}, ""},
		{"all without an address", ClusterConfig{Gossip: "a:1", Join: []string{"a:1"}, BootstrapExpect: 1, Replicas: 1, Egress: "e", FanOut: 1, Certs: "c"}, "gossip, join, bootstrap expect, replicas, egress, fan-out, certs: for nodes of a cluster alone"},
		{"loopback", loopback, ""},
		{"localhost, IPv6 and any ports", ClusterConfig{Address: "localhost:0", Gossip: "[::1]:0"}, ""},
		{"one port for both, given by the system", ClusterConfig{Address: "127.0.0.1:0", Gossip: "127.0.0.1:0"}, ""},
		{"no gossip", ClusterConfig{Address: "127.0.0.1:8411"}, "gossip: want HOST:PORT"},
		{"reached by others", public, "cluster address \"10.0.0.1:8411\": not a loopback address"},
		{"reached by others, with certificates", with(public, func(c *ClusterConfig) { c.Certs = "corona-certs" }), ""},
		{"reached by others, insecure", with(public, func(c *ClusterConfig) { c.Insecure = true }), ""},
		{"unspecified, insecure", with(loopback, func(c *ClusterConfig) { c.Insecure, c.Address = true, "0.0.0.0:1" }), "the address that other nodes reach"},
		{"one replica", with(loopback, func(c *ClusterConfig) { c.Replicas = 1 }), ""},
		{"eight replicas", with(loopback, func(c *ClusterConfig) { c.Replicas = 8 }), "replicas 8: want 1 to 7"},
		{"a node replaced soon", with(loopback, func(c *ClusterConfig) { c.ReplaceAfter = time.Second }), "replace after 1s: want 10s or more"},
		{"a fan-out", with(loopback, func(c *ClusterConfig) { c.FanOut = 2 }), ""},
		{"a negative fan-out", with(loopback, func(c *ClusterConfig) { c.FanOut = -1 }), "fan-out -1: want 1 to 1024"},
		{"a negative number of replicas", with(loopback, func(c *ClusterConfig) { c.Replicas = -1 }), "replicas -1"},
		{"three founders that join by name", with(loopback, func(c *ClusterConfig) { c.BootstrapExpect, c.Join = 3, []string{"n1:1", "[::1]:2"} }), ""},
		{"an address without port", with(loopback, func(c *ClusterConfig) { c.Join = []string{"n1"} }), "join \"n1\": want HOST:PORT"},
		{"an egress", with(loopback, func(c *ClusterConfig) { c.Egress = "office-1" }), ""},
	} {
		err := Config{Cluster: test.config}.withDefaults().Validate()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
	}
	if got := (Config{Cluster: loopback}).withDefaults().Cluster.Replicas; got != 3 {
		t.Errorf("%d replicas by default, want 3", got)
	}
}

// TestReachable: others are told the host that was given, and the port that it has.
func TestReachable(t *testing.T) {
	for _, test := range []struct {
		given, listens, want string
		warns                bool
	}{
		{"127.0.0.1:0", "127.0.0.1:4000", "127.0.0.1:4000", false},
		{"localhost:8411", "127.0.0.1:8411", "localhost:8411", false},
		{"[::1]:0", "[::1]:5", "[::1]:5", false},
		{"n1.example:8411", "10.0.0.1:8411", "n1.example:8411", false},
		{"n1.example:0", "127.0.1.1:4000", "n1.example:4000", true},
	} {
		var log strings.Builder
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(test.listens))
		got := reachable(test.given, at, slog.New(slog.NewTextHandler(&log, nil)))
		if got != test.want || (log.Len() > 0) != test.warns {
			t.Errorf("%s at %s: %s, %q; want %s", test.given, test.listens, got, log.String(), test.want)
		}
	}
}

// TestClock: a node that is given no clock goes by the steady one, whose rules have tests of their
// own.
func TestClock(t *testing.T) {
	clock := runtime.FuncForPC(reflect.ValueOf(Config{}.withDefaults().Now).Pointer()).Name()
	if !strings.Contains(clock, "corona/internal/steady.") {
		t.Errorf("the clock is %s", clock)
	}
}
