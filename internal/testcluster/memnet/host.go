package memnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	firstPort = 40000 // of those that are chosen
	backlog   = 128   // connections that wait to be accepted
)

// Host is one node's end of the network. It implements peer.Network.
type Host struct {
	network *Network
	name    string

	mu struct {
		sync.Mutex
		listeners map[int]*listener
		ports     int // chosen so far
	}
}

func seeded(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// choosePort returns a port that no other has. Locked.
func (h *Host) choosePort() int {
	for {
		h.mu.ports++
		if port := firstPort + h.mu.ports; h.mu.listeners[port] == nil {
			return port
		}
	}
}

// Listen listens on host:port, where the host is this one's name, or empty; port 0: one
// that is free.
func (h *Host) Listen(address string) (net.Listener, error) {
	at, err := parse(address)
	if err == nil && at.host != "" && at.host != h.name {
		err = fmt.Errorf("this is host %q", h.name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.mu.listeners[at.port] != nil {
		err = syscall.EADDRINUSE
	}
	at.host = h.name
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: at, Err: err}
	}
	if at.port == 0 {
		at.port = h.choosePort()
	}
	l := &listener{host: h, at: at, waiting: make(chan *conn, backlog), closed: make(chan struct{})}
	h.mu.listeners[at.port] = l
	return l, nil
}

func parse(address string) (Addr, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Addr{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Addr{}, fmt.Errorf("port %q: %w", port, err)
	}
	return Addr{host, int(number)}, nil
}

// Dial connects to host:port. While a direction is cut it waits, as long as the context
// lets it; where nothing listens it is refused.
func (h *Host) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := h.dial(ctx, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "mem", Source: Addr{host: h.name}, Addr: text(address), Err: err}
	}
	return c, nil
}

// text is an address as it was given.
type text string

func (text) Network() string  { return "mem" }
func (t text) String() string { return string(t) }

var errNoHost = errors.New("no such host")

func (h *Host) dial(ctx context.Context, address string) (*conn, error) {
	to, err := parse(address)
	if err != nil {
		return nil, err
	}
	h.network.mu.Lock()
	there := h.network.mu.hosts[to.host]
	h.network.mu.Unlock()
	if there == nil {
		return nil, errNoHost
	}
	if err := h.shakeHands(ctx, to.host); err != nil {
		return nil, err
	}
	there.mu.Lock()
	l := there.mu.listeners[to.port]
	there.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	h.mu.Lock()
	from := Addr{h.name, h.choosePort()}
	h.mu.Unlock()
	dialler, acceptor := h.network.connect(from, to)
	if err := l.offer(ctx, acceptor); err != nil {
		return nil, errors.Join(err, dialler.Close(), acceptor.Close())
	}
	return dialler, nil
}

// shakeHands takes a round trip in which neither direction is cut.
func (h *Host) shakeHands(ctx context.Context, to string) error {
	there, back := h.network.both(h.name, to)
	for {
		isCut, latency, changed := there.state()
		backCut, backLatency, backChanged := back.state()
		if !isCut && !backCut {
			timer := time.NewTimer(latency + backLatency)
			select {
			case <-timer.C:
				return context.Cause(ctx)
			case <-changed:
			case <-backChanged:
			case <-ctx.Done():
			}
			timer.Stop()
		} else {
			select {
			case <-changed:
			case <-backChanged:
			case <-ctx.Done():
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
}

func (h *Host) closeListeners() {
	h.mu.Lock()
	all := make([]*listener, 0, len(h.mu.listeners))
	for _, l := range h.mu.listeners {
		all = append(all, l)
	}
	h.mu.Unlock()
	for _, l := range all {
		_ = l.Close()
	}
}

// listener implements [net.Listener].
type listener struct {
	host    *Host
	at      Addr
	waiting chan *conn
	closed  chan struct{}
	closing sync.Once
}

// offer hands a connection to the listener.
func (l *listener) offer(ctx context.Context, c *conn) error {
	select {
	case <-l.closed:
		return syscall.ECONNREFUSED
	default:
	}
	select {
	case l.waiting <- c:
	case <-l.closed:
		return syscall.ECONNREFUSED
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if isClosed(l.closed) {
		l.refuse()
	}
	return nil
}

// refuse resets what waits to be accepted.
func (l *listener) refuse() {
	for {
		select {
		case c := <-l.waiting:
			c.in.reset()
			c.out.reset()
			_ = c.Close()
		default:
			return
		}
	}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	if !isClosed(l.closed) {
		select {
		case c := <-l.waiting:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.at, Err: net.ErrClosed}
}

// Close implements [net.Listener]. Connections that were not accepted are reset.
func (l *listener) Close() error {
	err := error(&net.OpError{Op: "close", Net: "mem", Addr: l.at, Err: net.ErrClosed})
	l.closing.Do(func() {
		l.host.mu.Lock()
		delete(l.host.mu.listeners, l.at.port)
		l.host.mu.Unlock()
		close(l.closed)
		l.refuse()
		err = nil
	})
	return err
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.at }
