package corona

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// ClusterConfig is what a node of a cluster of several needs to know. The zero value is
// a node alone: nothing listens for others.
type ClusterConfig struct {
	// Address is the host:port that other nodes reach this one on, and that they are
	// told; empty: a node alone, and all else here but Insecure must be zero.
	Address string
	// Gossip is the host:port of the gossip, TCP and UDP, by which nodes find each
	// other; required with Address.
	Gossip string
	// Join holds addresses of other nodes' gossip, at most 64; this node's own may be
	// among them. Names are resolved again whenever they are tried.
	Join []string
	// BootstrapExpect is how many fresh nodes found a cluster together, 1 to 64; 0:
	// this one waits for a cluster that it can join. A node with data founds none.
	BootstrapExpect int
	// Replicas is how many nodes each range lives on, 1 to 7, decided at the birth of
	// the cluster; default 3. While there are fewer nodes, each range is on all.
	Replicas int
	// ReplaceAfter is how long a node may give no answer until what it has of ranges is made
	// on others, 10 s or more; default 10 min. It is that of the node which leads the
	// cluster's meta group.
	ReplaceAfter time.Duration
	// Egress is a label of the address that origins see, 1 to 64 of A-Z a-z 0-9 . - _,
	// the first a letter or digit. Nodes with one label share an origin's patience;
	// default: none, a node with an address of its own.
	Egress string
	// FanOut is how many of a channel's pollers a node tells of a new version directly, 1 to
	// 1024, default 32. Where there are more, those that are told pass it on to the others.
	FanOut int
	// Certs is a directory with this node's certificates and the gossip's key, as
	// corona certs makes them; empty: connections are neither encrypted nor proved, and
	// addresses other than loopback are refused unless Insecure.
	Certs    string
	Insecure bool // without Certs, take addresses that other machines reach
}

const (
	defaultReplicas    = 3
	maxReplicas        = 7
	defaultReplace     = 10 * time.Minute
	leastReplace       = 10 * time.Second
	defaultFanOut      = 32
	maxFanOut          = 1024
	maxBootstrapExpect = 64
	maxJoin            = 64
)

func (c ClusterConfig) withDefaults() ClusterConfig {
	if c.Address != "" {
		set(&c.Replicas, defaultReplicas)
		set(&c.FanOut, defaultFanOut)
		set(&c.ReplaceAfter, defaultReplace)
	}
	return c
}

// validate says what is wrong with a configuration whose defaults are decided.
func (c ClusterConfig) validate() error {
	if c.Address == "" {
		return c.validateAlone()
	}
	errs := []error{
		c.checkAddress("cluster", c.Address),
		c.checkAddress("gossip", c.Gossip),
	}
	for _, address := range c.Join {
		errs = append(errs, checkJoin(address))
	}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Gossip != c.Address || strings.HasSuffix(c.Gossip, ":0"), "gossip address %q: is the cluster address too: want another port", c.Gossip)
	check(len(c.Join) <= maxJoin, "join: %d addresses: want %d at most", len(c.Join), maxJoin)
	check(c.BootstrapExpect >= 0 && c.BootstrapExpect <= maxBootstrapExpect, "bootstrap expect %d: want 1 to %d", c.BootstrapExpect, maxBootstrapExpect)
	check(c.Replicas >= 1 && c.Replicas <= maxReplicas, "replicas %d: want 1 to %d", c.Replicas, maxReplicas)
	check(c.ReplaceAfter >= leastReplace, "replace after %s: want %s or more", c.ReplaceAfter, leastReplace)
	check(c.FanOut >= 1 && c.FanOut <= maxFanOut, "fan-out %d: want 1 to %d", c.FanOut, maxFanOut)
	check(c.Egress == "" || nodeName.MatchString(c.Egress), "egress %q: want 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first", c.Egress)
	return errors.Join(errs...)
}

// validateAlone refuses what has no meaning for a node alone.
func (c ClusterConfig) validateAlone() error {
	var given []string
	for _, setting := range []struct {
		name string
		set  bool
	}{
		{"gossip", c.Gossip != ""},
		{"join", len(c.Join) > 0},
		{"bootstrap expect", c.BootstrapExpect != 0},
		{"replicas", c.Replicas != 0},
		{"replace after", c.ReplaceAfter != 0},
		{"egress", c.Egress != ""},
		{"fan-out", c.FanOut != 0},
		{"certs", c.Certs != ""},
	} {
		if setting.set {
			given = append(given, setting.name)
		}
	}
	if given == nil {
		return nil
	}
	return fmt.Errorf("%s: for nodes of a cluster alone: want cluster too, the address that other nodes reach this one on", strings.Join(given, ", "))
}

// checkAddress checks an address that this node listens on and that others are told.
func (c ClusterConfig) checkAddress(name, address string) error {
	if address == "" {
		return fmt.Errorf("%s: want HOST:PORT, with a cluster address", name)
	}
	host, err := hostOf(address, 0)
	if err != nil {
		return fmt.Errorf("%s address %q: %w", name, address, err)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && ip.IsUnspecified():
		return fmt.Errorf("%s address %q: want the address that other nodes reach, since they are told it", name, address)
	case c.Certs == "" && !c.Insecure && !guard.IsLoopback(host):
		return fmt.Errorf("%s address %q: not a loopback address: what reaches it could read and change everything; give certs (corona certs makes them), use 127.0.0.1, or pass --insecure-cluster", name, address)
	}
	return nil
}

func checkJoin(address string) error {
	host, err := hostOf(address, 1)
	if err == nil && host == "" {
		err = errors.New("want HOST:PORT")
	}
	if err != nil {
		return fmt.Errorf("join %q: %w", address, err)
	}
	return nil
}

// hostOf returns the host of HOST:PORT, whose port must be least or above.
func hostOf(address string, least uint64) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("want HOST:PORT: %w", err)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number < least {
		return "", fmt.Errorf("port %q: want %d to 65535", port, least)
	}
	return host, nil
}
