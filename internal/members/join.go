package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// keepJoining joins where a member is expected and none is seen, again and again, with
// pauses that double while nothing comes of it. So a node finds the others that start
// after it, and two halves of a cluster that were cut apart for long find each other.
func (m *Members) keepJoining(ctx context.Context) {
	pause := m.config.times.firstPause
	for {
		targets := m.missing(ctx)
		joined := m.join(ctx, targets, pause)
		if joined || len(targets) == 0 {
			pause = m.config.times.firstPause
		}
		wait := pause
		if len(targets) == 0 {
			wait = m.config.times.lastPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		pause = min(2*pause, m.config.times.lastPause)
	}
}

// missing returns the gossip addresses where no live member is seen: those that --join
// names, resolved again each time, and those where members have died.
func (m *Members) missing(ctx context.Context) []netip.AddrPort {
	wanted := m.resolveJoin(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(time.Now())
	var seen []netip.AddrPort
	for _, e := range m.mu.all {
		if e.State == Alive {
			seen = append(seen, e.gossip)
		} else if !e.Draining { // one that left in order is not waited for
			wanted = append(wanted, e.gossip)
		}
	}
	slices.SortFunc(wanted, netip.AddrPort.Compare)
	wanted = slices.Compact(wanted)
	return slices.DeleteFunc(wanted, func(a netip.AddrPort) bool {
		return a == m.transport.address() || slices.Contains(seen, a)
	})
}

// join tries each target, and says whether one answered. A node that sees none of the
// others is told why, once pauses are long: at a start together failures are usual.
func (m *Members) join(ctx context.Context, targets []netip.AddrPort, pause time.Duration) (joined bool) {
	for _, target := range targets {
		if ctx.Err() != nil {
			return joined
		}
		_, err := m.list.Join([]string{target.String()})
		if err == nil {
			m.metrics.joins.Inc()
			joined = true
			continue
		}
		m.metrics.joinFailures.Inc()
		level := slog.LevelDebug
		if pause >= m.config.times.lastPause && m.count(Alive) <= 1 {
			level = slog.LevelWarn
		}
		m.config.Logger.Log(ctx, level, "no member can be joined", "address", target.String(), "error", err)
	}
	return joined
}

const (
	resolveWithin = 2 * time.Second
	maxAddresses  = 64 // of one name
)

func (m *Members) resolveJoin(ctx context.Context) (all []netip.AddrPort) {
	for _, name := range m.config.Join {
		found, err := resolve(ctx, name, m.config.resolve)
		if err != nil && ctx.Err() == nil {
			m.metrics.joinFailures.Inc()
			m.config.Logger.Debug("name of a member is not known", "address", name, "error", err)
		}
		all = append(all, found...)
	}
	return all
}

// resolve returns the addresses of a host:port.
func resolve(ctx context.Context, address string, lookup func(context.Context, string) ([]netip.Addr, error)) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: want 0 to 65535", port)
	}
	ips := make([]netip.Addr, 1)
	if ips[0], err = netip.ParseAddr(host); err != nil {
		ctx, cancel := context.WithTimeout(ctx, resolveWithin)
		defer cancel()
		if ips, err = lookup(ctx, host); err != nil {
			return nil, err
		}
	}
	var found []netip.AddrPort
	for _, ip := range ips[:min(len(ips), maxAddresses)] {
		found = append(found, netip.AddrPortFrom(ip.Unmap(), uint16(number)))
	}
	return found, nil
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// bindAddress returns the one address that host:port stands for, IPv4 first.
func bindAddress(address string, lookup func(context.Context, string) ([]netip.Addr, error)) (netip.AddrPort, error) {
	fail := func(err error) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("gossip address %q: %w", address, err)
	}
	all, err := resolve(context.Background(), address, lookup)
	if err != nil {
		return fail(err)
	}
	if len(all) == 0 {
		return fail(errors.New("stands for no address"))
	}
	at := all[max(0, slices.IndexFunc(all, func(a netip.AddrPort) bool { return a.Addr().Is4() }))]
	switch {
	case at.Addr().IsUnspecified():
		return fail(errors.New("want the address that other nodes reach"))
	case at.Addr().Zone() != "":
		return fail(errors.New("want an address without a zone"))
	}
	return at, nil
}
