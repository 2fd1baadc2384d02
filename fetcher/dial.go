package fetcher

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// dialer makes connections: guarded, with TLS where the URL says so.
type dialer struct {
	allowPrivate bool
	tcp          func(ctx context.Context, network, address string) (net.Conn, error)
	names        *names // nil: tcp takes names
	tls          *tls.Config
	sessions     *sessions
	metrics      *metrics
}

func newDialer(config Config, m *metrics) *dialer {
	d := &dialer{allowPrivate: config.AllowPrivate, tcp: config.Dial, sessions: newSessions(config.MaxSessions), metrics: m}
	if d.tcp == nil {
		// Probes of idle connections would find out late what the deadline of the
		// next exchange finds out anyway.
		d.tcp = (&net.Dialer{Control: guard.Control(config.AllowPrivate), KeepAlive: -1}).DialContext
		d.names = newNames(config.Resolver, config.MaxNames, config.MaxLookups, m)
	}
	d.tls = &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    config.RootCAs,
		NextProtos: []string{"http/1.1"},
	}
	return d
}

// dial connects to a's host before the deadline.
func (d *dialer) dial(ctx context.Context, deadline time.Time, a address) (*conn, error) {
	if err := guard.CheckURL(a.url, d.allowPrivate); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	hostPort := channel.Host(a.url)
	tcp, err := d.connect(ctx, hostPort)
	if err != nil {
		return nil, err
	}
	if !a.tls {
		return newConn(tcp, tcp), nil
	}
	secure, err := d.secure(ctx, tcp, hostPort)
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return newConn(secure, tcp), nil
}

// connect tries the addresses of a host in turn, the one that answered last time
// first. When none answers, they are forgotten: the host may have moved.
func (d *dialer) connect(ctx context.Context, hostPort string) (net.Conn, error) {
	host, port := split(hostPort)
	if _, err := netip.ParseAddr(host); err == nil || d.names == nil {
		return d.tcp(ctx, "tcp", hostPort)
	}
	addrs, err := d.names.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var first error
	for i, addr := range addrs {
		c, err := d.try(ctx, net.JoinHostPort(addr.String(), port), len(addrs)-i)
		if err == nil {
			d.names.prefer(host, addr)
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	d.names.drop(host)
	return nil, first
}

// try connects to one address, within its share of the time that is left for so
// many: the first may swallow every packet.
func (d *dialer) try(ctx context.Context, address string, left int) (net.Conn, error) {
	const least = 2 * time.Second
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, max(time.Until(deadline)/time.Duration(left), least))
	defer cancel()
	return d.tcp(ctx, "tcp", address)
}

// maxHandshake is how much a server may send in a handshake, in bytes. Chains are 2
// to 10 KiB long, and some 20 KiB with signatures that quantum computers cannot
// forge; the library alone would take half a MiB in messages of its largest sizes.
const maxHandshake = 128 << 10

// secure makes a handshake.
func (d *dialer) secure(ctx context.Context, tcp net.Conn, hostPort string) (net.Conn, error) {
	config := d.tls.Clone()
	config.ServerName, _ = split(hostPort)
	config.ClientSessionCache = d.sessions.of(hostPort)
	within := &limited{Conn: tcp, left: maxHandshake}
	secure := tls.Client(within, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		if isTimeout(err) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &handshakeError{err}
	}
	within.left = math.MaxInt
	d.metrics.handshake(secure.ConnectionState().DidResume)
	return secure, nil
}

// limited is a connection that gives a number of bytes and then an error.
type limited struct {
	net.Conn
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, fail(TLS, "more than %d bytes in a handshake", maxHandshake)
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// split takes host and port of a canonical URL apart, and an IPv6 address out of
// its brackets.
func split(hostPort string) (host, port string) {
	colon := strings.LastIndexByte(hostPort, ':')
	return strings.TrimSuffix(strings.TrimPrefix(hostPort[:colon], "["), "]"), hostPort[colon+1:]
}
