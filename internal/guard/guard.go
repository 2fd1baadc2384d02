// Package guard refuses requests that others could make this node send to where
// it must not call: loopback, private and special-purpose addresses, and ports on
// which something other than HTTP listens (server-side request forgery).
//
// The check that counts is [Control], on the address that is really dialled, after
// DNS and immediately before the first packet: a name may change its address
// between a check and its use. [CheckURL] is the early, friendly one, for what a
// URL already tells by itself; it asks no DNS.
package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/seed-91e7e7c1/corona/channel"
)

// ErrForbidden is wrapped by every refusal of this package.
var ErrForbidden = errors.New("address is not allowed")

// ControlFunc is the type of [net.Dialer.Control].
type ControlFunc = func(network, address string, conn syscall.RawConn) error

// Control returns a check for [net.Dialer.Control]. It refuses what is not TCP,
// the ports of [ForbiddenPort], and, unless allowPrivate is set, every address
// that is not publicly routable unicast. Its errors wrap [ErrForbidden].
func Control(allowPrivate bool) ControlFunc {
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return fmt.Errorf("%w: network %q", ErrForbidden, network)
		}
		dialled, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrForbidden, err)
		}
		if err := checkPort(dialled.Port()); err != nil {
			return err
		}
		if allowPrivate {
			return nil
		}
		return checkAddr(dialled.Addr())
	}
}

// CheckURL refuses a canonical URL ([channel.Canonical]) whose host or port shows
// without DNS that dialling it would be refused: a literal address that is not
// public and "localhost" (both unless allowPrivate is set), a forbidden port, and a
// host that is a number but no IPv4 address in its plain form, as in 0177.0.0.1
// or 2130706433: resolvers disagree on those, DNS knows none of them. Its errors
// wrap [ErrForbidden].
func CheckURL(canonical string, allowPrivate bool) error {
	return checkHost(channel.Host(canonical), allowPrivate)
}

// IsPrivate reports a host, a name with port, that shows by itself that it is on
// this machine or in a private network, and nothing else that is refused.
func IsPrivate(host string) bool {
	return checkHost(host, false) != nil && checkHost(host, true) == nil
}

// IsLoopback reports a host, without port, that only this machine reaches: a literal
// loopback address, or localhost. No name is resolved: other names are not known to be
// loopback.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func checkHost(hostPort string, allowPrivate bool) error {
	host, port, err := splitHostPort(hostPort)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	if err := checkPort(port); err != nil {
		return err
	}
	if strings.Contains(host, ":") || endsInNumber(host) {
		return checkLiteral(host, allowPrivate)
	}
	if !allowPrivate && isLocalhost(host) {
		return fmt.Errorf("%w: %s is this machine", ErrForbidden, host)
	}
	return nil
}

// checkLiteral checks a host that is an address, if it is anything.
func checkLiteral(host string, allowPrivate bool) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("%w: host %q is a number, but no plain IPv4 address", ErrForbidden, host)
	}
	if allowPrivate {
		return nil
	}
	return checkAddr(addr)
}

func splitHostPort(hostPort string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(hostPort, ':')
	if i < 0 {
		return "", 0, fmt.Errorf("no port in %q", hostPort)
	}
	n, err := strconv.ParseUint(hostPort[i+1:], 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("port of %q: %w", hostPort, err)
	}
	host = strings.TrimSuffix(strings.TrimPrefix(hostPort[:i], "["), "]")
	if host == "" {
		return "", 0, fmt.Errorf("no host in %q", hostPort)
	}
	return host, uint16(n), nil
}

func checkPort(port uint16) error {
	if ForbiddenPort(port) {
		return fmt.Errorf("%w: port %d", ErrForbidden, port)
	}
	return nil
}

// public holds the address lists. It is immutable, and Control's own check of
// networks and ports replaces the library's.
var public = ssrf.New(ssrf.WithAnyNetwork(), ssrf.WithAnyPort())

// cloudHost is the address at which Azure's machines find their host: it looks
// public, answers only there, and hands out secrets.
var cloudHost = netip.AddrFrom4([4]byte{168, 63, 129, 16})

func checkAddr(addr netip.Addr) error {
	if addr == cloudHost {
		return fmt.Errorf("%w: %s belongs to the cloud's host", ErrForbidden, addr)
	}
	if err := public.SafeAddr(addr); err != nil {
		return fmt.Errorf("%w: %s is not a public address", ErrForbidden, addr)
	}
	return nil
}

// endsInNumber reports what the URL standard takes for an IPv4 address: a last
// label of digits alone, or of 0x and hex digits.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// isLocalhost reports the names that RFC 6761, section 6.3 keeps for loopback.
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
