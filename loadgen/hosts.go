package loadgen

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/arrival"
	"github.com/seed-91e7e7c1/corona/internal/descriptors"
)

var loopback = netip.MustParsePrefix("127.0.0.0/8")

// parseListen reads the first host's address and checks that the last one is an
// address of this machine too.
func parseListen(listen string, hosts int) (netip.AddrPort, error) {
	base, err := netip.ParseAddrPort(listen)
	if err != nil || !loopback.Contains(base.Addr()) {
		return netip.AddrPort{}, fmt.Errorf("listen address %q: want an address of 127.0.0.0/8 with a port, such as %s", listen, DefaultListen)
	}
	// The last address of the network, its broadcast address, takes no listener.
	last := hostAddress(base, hosts)
	if !loopback.Contains(last.Addr()) {
		return netip.AddrPort{}, fmt.Errorf("%d hosts from %s reach beyond 127.0.0.0/8", hosts, base.Addr())
	}
	return base, nil
}

// hostAddress returns the h-th address after the base, on the same port.
func hostAddress(base netip.AddrPort, h int) netip.AddrPort {
	address := base.Addr().As4()
	binary.BigEndian.PutUint32(address[:], binary.BigEndian.Uint32(address[:])+uint32(h))
	return netip.AddrPortFrom(netip.AddrFrom4(address), base.Port())
}

// Listen opens one listener per host, so that nothing but loopback addresses is
// reachable, and settles the port if Config.Listen left it open. Give the
// listeners to [Origin.Serve], which closes them.
func (o *Origin) Listen(ctx context.Context) ([]net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1} // saves four system calls per connection
	listeners := make([]net.Listener, 0, o.config.Hosts)
	for h := range o.config.Hosts {
		if o.troubles.dead(h) && h > 0 {
			continue
		}
		listener, err := config.Listen(ctx, "tcp4", hostAddress(o.base, h).String())
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("origin: host %d of %d: %w", h+1, o.config.Hosts, err)
		}
		if h == 0 {
			o.base = listener.Addr().(*net.TCPAddr).AddrPort()
		}
		if o.troubles.dead(h) { // the first one, which had the port to settle
			_ = listener.Close()
			continue
		}
		listeners = append(listeners, listener)
		if o.config.Observe == nil {
			continue
		}
		if listeners[len(listeners)-1], err = arrival.Stamp(listener); err != nil {
			closeAll(listeners[:len(listeners)-1])
			return nil, errors.Join(fmt.Errorf("origin: host %d: %w", h+1, err), listener.Close())
		}
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		_ = listener.Close() // a listener has nothing to lose
	}
}

// Time limits of a connection.
const (
	requestTimeout  = 30 * time.Second
	responseTimeout = 10 * time.Minute // lists are long, their readers may be slow
	idleTimeout     = 2 * time.Minute
	closeTimeout    = 5 * time.Second
)

// Serve answers on the listeners, of whatever kind, until the context ends; then
// it closes them, lets requests finish, and returns nil.
func (o *Origin) Serve(ctx context.Context, listeners ...net.Listener) error {
	budget, err := connectionBudget(len(listeners))
	if err != nil {
		closeAll(listeners)
		return fmt.Errorf("origin: %w", err)
	}
	server := o.newServer(budget)
	all := &fanIn{listeners: listeners, conns: make(chan net.Conn), done: make(chan struct{}), log: o.config.Logger}
	if o.authority != nil {
		all.secure = o.authority.config()
	}
	all.start()
	o.troubles.ward.open(ctx)
	defer o.troubles.ward.close()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(all) }()
	select {
	case <-ctx.Done():
	case err = <-ended:
		ended <- nil
	}
	_ = all.Close() // closes listeners, which have nothing to lose
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, server.ShutdownWithContext(closing), <-ended)
}

// newServer makes the HTTP server for at most budget connections. From three
// quarters of them on it closes each connection after its answer, so that idle
// ones never keep new ones out.
func (o *Origin) newServer(budget int) *fasthttp.Server {
	server := &fasthttp.Server{
		Concurrency:           budget,
		ReadTimeout:           requestTimeout,
		WriteTimeout:          responseTimeout,
		IdleTimeout:           idleTimeout,
		GetOnly:               true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		NoDefaultDate:         o.config.Faults.LyingClock > 0,
		Logger:                connectionLog{o.config.Logger},
	}
	crowded := int32(budget * 3 / 4)
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		o.handle(ctx)
		if server.GetOpenConnectionsCount() > crowded {
			ctx.SetConnectionClose()
		}
	}
	return server
}

// descriptorReserve is what a process needs beside listeners and connections.
const descriptorReserve = 256

// connectionBudget returns how many connections the descriptor limit leaves.
func connectionBudget(listeners int) (int, error) {
	limit, err := descriptors.Limit()
	if err != nil {
		return 0, err
	}
	left := int(min(limit, 1<<20)) - listeners - descriptorReserve
	if left < 16 {
		return 0, fmt.Errorf("%d hosts leave no descriptors for connections: the limit is %d (ulimit -n)", listeners, limit)
	}
	return left, nil
}

// connectionLog is what fasthttp says about connections, at debug level: most of
// it is clients that went away.
type connectionLog struct{ log *slog.Logger }

func (l connectionLog) Printf(format string, args ...any) {
	l.log.Debug("connection", "message", fmt.Sprintf(format, args...))
}

// fanIn is many listeners as one. From start on it owns a goroutine per listener;
// Close waits for them.
type fanIn struct {
	listeners []net.Listener
	conns     chan net.Conn
	done      chan struct{}
	close     sync.Once
	running   sync.WaitGroup
	log       *slog.Logger
	secure    *tls.Config // nil: no TLS
}

func (f *fanIn) start() {
	for _, listener := range f.listeners {
		f.running.Go(func() { f.accept(listener) })
	}
}

// acceptPause is how long a listener rests that could not accept, which is when
// the process has no descriptors left.
const acceptPause = 50 * time.Millisecond

func (f *fanIn) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err == nil {
			select {
			case f.conns <- conn:
			case <-f.done:
				_ = conn.Close() // never served
			}
			continue
		}
		if f.ended() {
			return
		}
		f.log.Warn("origin cannot accept a connection", "address", listener.Addr().String(), "error", err)
		select {
		case <-time.After(acceptPause):
		case <-f.done:
			return
		}
	}
}

func (f *fanIn) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// Accept implements [net.Listener].
func (f *fanIn) Accept() (net.Conn, error) {
	select {
	case conn := <-f.conns:
		if f.secure != nil {
			conn = tls.Server(conn, f.secure) // its handshake is the goroutine's that serves it
		}
		return conn, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]; it may be called more than once.
func (f *fanIn) Close() error {
	f.close.Do(func() {
		close(f.done)
		closeAll(f.listeners)
	})
	f.running.Wait()
	return nil
}

// Addr implements [net.Listener]: the first listener's.
func (f *fanIn) Addr() net.Addr { return f.listeners[0].Addr() }
