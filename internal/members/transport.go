package members

import (
	"context"
	"errors"
	"log"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	dialWithin   = 2 * time.Second
	maxStreams   = 64 // connections of others at a time
	bindAttempts = 10 // for a port that is free for both TCP and UDP
)

// transport is memberlist's own one, with a bound on connections of others, and with an
// end to all connections when it is shut down.
type transport struct {
	*memberlist.NetTransport
	ctx     context.Context // ends attempts to connect
	at      netip.AddrPort
	metrics *metrics
	streams chan net.Conn
	down    chan struct{} // closed when no more connections are handed on
	forward sync.WaitGroup

	mu struct {
		sync.Mutex
		open map[net.Conn]bool
	}
}

func newTransport(ctx context.Context, bind netip.AddrPort, logger *log.Logger, m *metrics) (*transport, error) {
	inner, err := listen(bind, logger)
	if err != nil {
		return nil, err
	}
	t := &transport{
		NetTransport: inner, ctx: ctx, metrics: m,
		at:      netip.AddrPortFrom(bind.Addr(), uint16(inner.GetAutoBindPort())),
		streams: make(chan net.Conn), down: make(chan struct{}),
	}
	t.mu.open = make(map[net.Conn]bool)
	t.forward.Go(t.forwardStreams)
	return t, nil
}

func listen(bind netip.AddrPort, logger *log.Logger) (inner *memberlist.NetTransport, err error) {
	config := &memberlist.NetTransportConfig{BindAddrs: []string{bind.Addr().String()}, BindPort: int(bind.Port()), Logger: logger}
	for range bindAttempts {
		if inner, err = memberlist.NewNetTransport(config); err == nil || bind.Port() != 0 {
			break
		}
	}
	return inner, err
}

func (t *transport) address() netip.AddrPort { return t.at }

// StreamCh implements [memberlist.Transport].
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

// forwardStreams hands connections on, as long as there are not too many.
func (t *transport) forwardStreams() {
	for {
		select {
		case <-t.down:
			return
		case conn := <-t.NetTransport.StreamCh():
			tracked := t.track(conn)
			if tracked == nil {
				t.metrics.refused.Inc()
				_ = conn.Close()
				continue
			}
			select {
			case t.streams <- tracked:
			case <-t.down:
				_ = tracked.Close()
			}
		}
	}
}

// track notes a connection; nil: there are too many.
func (t *transport) track(conn net.Conn) net.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.open) >= maxStreams {
		return nil
	}
	tracked := &stream{Conn: conn, transport: t}
	t.mu.open[tracked] = true
	return tracked
}

// stream is a connection of another node's.
type stream struct {
	net.Conn
	transport *transport
}

// Close implements [net.Conn].
func (s *stream) Close() error {
	s.transport.mu.Lock()
	delete(s.transport.mu.open, s)
	s.transport.mu.Unlock()
	return s.Conn.Close()
}

// DialAddressTimeout implements [memberlist.NodeAwareTransport].
func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(a.Addr, timeout)
}

// DialTimeout implements [memberlist.Transport].
func (t *transport) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: min(timeout, dialWithin)}
	conn, err := dialer.DialContext(t.ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(t.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return &dialled{conn, stop}, nil
}

// dialled is a connection of our own, which ends with the transport's context.
type dialled struct {
	net.Conn
	stop func() bool
}

// Close implements [net.Conn].
func (d *dialled) Close() error {
	d.stop()
	return d.Conn.Close()
}

// Shutdown implements [memberlist.Transport]. Connections are handed on until the
// listeners have ended, which wait for that.
func (t *transport) Shutdown() error {
	err := t.NetTransport.Shutdown()
	close(t.down)
	t.forward.Wait()
	t.mu.Lock()
	open := t.mu.open
	t.mu.open = make(map[net.Conn]bool)
	t.mu.Unlock()
	for conn := range open {
		err = errors.Join(err, ignoreClosed(conn.Close()))
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
