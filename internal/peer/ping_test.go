package peer

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a network in memory: a listener per address, and a switch that makes it
// swallow what is written.
type memory struct {
	mu struct {
		sync.Mutex
		listeners map[string]chan net.Conn
		silent    bool
	}
}

func newMemory() *memory {
	m := &memory{}
	m.mu.listeners = make(map[string]chan net.Conn)
	return m
}

func (m *memory) setSilent(silent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.silent = silent
}

func (m *memory) isSilent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.silent
}

func (m *memory) Dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	accepted := m.mu.listeners[address]
	m.mu.Unlock()
	if accepted == nil {
		return nil, errors.New("nothing listens there")
	}
	ours, theirs := net.Pipe()
	select {
	case accepted <- &mutable{theirs, m}:
		return &mutable{ours, m}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// mutable loses what is written while the network is silent.
type mutable struct {
	net.Conn
	network *memory
}

func (c *mutable) Write(b []byte) (int, error) {
	if c.network.isSilent() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

type memoryListener struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (m *memory) listen(address string) net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &memoryListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	m.mu.listeners[address] = l.accepted
	return l
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// TestHealth: round trip and clock offset are measured; a peer that falls silent loses
// its connections after three pings, and is found again.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newMemory()
		const ahead = 90 * time.Second
		b, err := New(Config{Self: Identity{"c1", "b", "b.1"}, Network: network, Now: func() time.Time { return time.Now().Add(ahead) }})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		b.Handle(testWait, func(ctx context.Context, _ Call) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := b.Serve(ctx, network.listen("b")); err != nil {
				t.Error(err)
			}
		})
		defer serving.Wait()
		defer cancel()
		a, err := New(Config{Self: Identity{"c1", "a", "a.1"}, Network: network})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		synctest.Wait()
		a.SetPeers([]Peer{{ID: "b.1", Name: "b", Address: "b"}})

		time.Sleep(10 * time.Second)
		health, known := a.Health("b.1")
		if !known || health.Missed != 0 || time.Since(health.Heard) > pingEvery || health.ClockOffset != ahead || health.RTT != 0 {
			t.Errorf("a healthy peer: %+v, %v", health, known)
		}
		lost := make(chan error, 1)
		go func() {
			_, err := a.Call(t.Context(), "b.1", Log, testWait, 0, nil)
			lost <- err
		}()
		synctest.Wait()
		network.setSilent(true)
		began := time.Now()
		err = <-lost
		wantError(t, err, ErrLost)
		wantError(t, err, errSilent)
		if took := time.Since(began); took > (mostMissed+1)*pingEvery {
			t.Errorf("the connections of a silent peer ended after %v", took)
		}
		time.Sleep(time.Minute)
		if health, _ := a.Health("b.1"); health.Missed < 20 {
			t.Errorf("a silent peer: %+v", health)
		}
		network.setSilent(false)
		time.Sleep(2 * lastRetry)
		if health, _ := a.Health("b.1"); health.Missed != 0 || time.Since(health.Heard) > pingEvery {
			t.Errorf("a peer that is back: %+v", health)
		}
		a.SetPeers(nil)
		if _, known := a.Health("b.1"); known {
			t.Error("a removed peer has health")
		}
	})
}

// TestRetries: an unreachable peer is dialled ever less often, and calls to it do not
// wait for that.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialed atomic.Int32
		a, err := New(Config{Self: Identity{"c1", "a", "a.1"}, Network: dialFunc(func() { dialed.Add(1) })})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.SetPeers([]Peer{{ID: "b.1", Name: "b", Address: "b"}})
		began := time.Now()
		for time.Since(began) < time.Minute {
			_, err := a.Call(t.Context(), "b.1", Log, testEcho, 0, nil)
			wantError(t, err, ErrNotSent)
			time.Sleep(time.Millisecond)
		}
		// Two lanes: the pings' too. 50 ms, 100, … 1.6 s, then every two seconds.
		if n, least, most := dialed.Load(), int32(2*(6+27)), int32(2*(6+31)); n < least || n > most {
			t.Errorf("dialed %d times in a minute, want %d to %d", n, least, most)
		}
	})
}

type dialFunc func()

func (f dialFunc) Dial(context.Context, string) (net.Conn, error) {
	f()
	return nil, errors.New("nothing listens there")
}
