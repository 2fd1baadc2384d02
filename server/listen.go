package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// ErrOpenListen says that an address can be reached from other machines, which
// needs access tokens.
var ErrOpenListen = errors.New("not a loopback address")

// CheckListen decides whether a node may listen on an address, "host:port".
// Whoever can reach the API can use it, so only loopback addresses are allowed;
// insecure allows every address. The error is [ErrOpenListen] or says what is
// wrong with the address. No name is resolved: but for localhost, names are not
// known to be loopback.
func CheckListen(address string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: want HOST:PORT: %w", address, err)
	}
	if insecure || isLoopbackHost(host) {
		return nil
	}
	return fmt.Errorf("listen address %q: %w: whoever reaches the API could use it, and this version has no access tokens; listen on 127.0.0.1, or pass --insecure-api", address, ErrOpenListen)
}

func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// limit caps the open connections of a listener. One more is closed at once: a
// client that is told is better off than one that waits in a queue.
func (s *Server) limit(l net.Listener) net.Listener {
	return &limitListener{Listener: l, tokens: make(chan struct{}, s.cfg.MaxConns), metrics: s.metrics}
}

type limitListener struct {
	net.Listener
	tokens  chan struct{}
	metrics *metrics
}

// Accept returns the next connection that there is room for.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if take(l.tokens) {
			return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.tokens })}, nil
		}
		l.metrics.connsRefused.Inc()
		conn.Close()
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
