package fetcher

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// dialer makes connections: guarded, with TLS where the URL says so.
type dialer struct {
	allowPrivate bool
	tcp          func(ctx context.Context, network, address string) (net.Conn, error)
	tls          *tls.Config
}

// sessions is how many hosts' TLS sessions are kept for resumption. A session
// takes about 2 KiB and saves its host's next handshake a signature.
const sessions = 4096

func newDialer(config Config) *dialer {
	d := &dialer{allowPrivate: config.AllowPrivate, tcp: config.Dial}
	if d.tcp == nil {
		// Probes of idle connections would find out late what the deadline of the
		// next exchange finds out anyway.
		d.tcp = (&net.Dialer{
			Control:   guard.Control(config.AllowPrivate),
			Resolver:  config.Resolver,
			KeepAlive: -1,
		}).DialContext
	}
	d.tls = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            config.RootCAs,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
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
	tcp, err := d.tcp(ctx, "tcp", hostPort)
	if err != nil {
		return nil, err
	}
	if !a.tls {
		return newConn(tcp, tcp), nil
	}
	secure := tls.Client(tcp, d.tlsFor(hostPort))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = tcp.Close()
		if isTimeout(err) || ctx.Err() != nil {
			return nil, err
		}
		return nil, &handshakeError{err}
	}
	return newConn(secure, tcp), nil
}

func (d *dialer) tlsFor(hostPort string) *tls.Config {
	config := d.tls.Clone()
	name := hostPort[:strings.LastIndexByte(hostPort, ':')]
	config.ServerName = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return config
}
