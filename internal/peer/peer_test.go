package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testEcho Kind = FirstKind + iota
	testFail
	testWait
	testStream
)

// rig is a node that listens on loopback.
type rig struct {
	*Node
	t        *testing.T
	listener net.Listener
	serving  sync.WaitGroup
	cancel   context.CancelFunc
	waiting  chan struct{} // a token for each call of testWait that has begun
}

func newRig(t *testing.T, name string, change func(*Config)) *rig {
	t.Helper()
	config := Config{Self: Identity{Cluster: "c1", Name: name, ID: name + ".1"}, Registerer: prometheus.NewRegistry()}
	if change != nil {
		change(&config)
	}
	n, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Node: n, t: t, waiting: make(chan struct{}, 1000)}
	n.Handle(testEcho, func(_ context.Context, c Call) ([]byte, error) {
		return fmt.Appendf(nil, "%s %d %s", c.From.Name, c.Group, c.Payload), nil
	})
	n.Handle(testFail, func(context.Context, Call) ([]byte, error) { return nil, errors.New("no such thing") })
	n.Handle(testWait, func(ctx context.Context, _ Call) ([]byte, error) {
		r.waiting <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	n.HandleStream(testStream, func(_ context.Context, c Call, stream net.Conn) {
		_, _ = io.WriteString(stream, string(c.Payload)+" ")
		_, _ = io.Copy(stream, stream)
	})
	r.listen("127.0.0.1:0")
	t.Cleanup(r.close)
	return r
}

func (r *rig) listen(address string) {
	r.t.Helper()
	var err error
	if r.listener, err = net.Listen("tcp", address); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.serving.Go(func() {
		if err := r.Serve(ctx, r.listener); err != nil {
			r.t.Error(err)
		}
	})
}

// deaf stops listening and ends the connections of others.
func (r *rig) deaf() {
	r.cancel()
	r.serving.Wait()
}

func (r *rig) close() {
	r.deaf()
	r.Close()
}

func (r *rig) peer() Peer {
	self := r.Self()
	return Peer{ID: self.ID, Name: self.Name, Address: r.listener.Addr().String()}
}

func TestCalls(t *testing.T) {
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprintf("secured %v", secured), func(t *testing.T) {
			dir := t.TempDir()
			if _, err := MakeCertificates(dir, []string{"a", "b"}, time.Now()); err != nil {
				t.Fatal(err)
			}
			credentials := func(c *Config) {
				if !secured {
					return
				}
				var err error
				if c.Credentials, err = LoadCredentials(dir, c.Self.Name, time.Now); err != nil {
					t.Fatal(err)
				}
			}
			a, b := newRig(t, "a", credentials), newRig(t, "b", credentials)
			a.SetPeers([]Peer{a.peer(), b.peer()})
			checkCalls(t, a, b)
			checkStream(t, a, b)
		})
	}
}

func checkCalls(t *testing.T, a, b *rig) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 200 {
		lane := []Lane{Control, Log}[i%2]
		all.Go(func() {
			got, err := a.Call(t.Context(), b.Self().ID, lane, testEcho, uint64(i), []byte("hi"))
			if want := fmt.Sprintf("a %d hi", i); err != nil || string(got) != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
	all.Wait()
	large := bytes.Repeat([]byte("x"), MaxPayload-100)
	got, err := a.Call(t.Context(), b.Self().ID, Log, testEcho, 1, large)
	if err != nil || len(got) != len(large)+4 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err = a.Call(t.Context(), b.Self().ID, Log, testEcho, 1, make([]byte, MaxPayload+1))
	wantError(t, err, ErrNotSent)
	_, err = a.Call(t.Context(), b.Self().ID, Control, testEcho, 1, make([]byte, 65<<10))
	wantError(t, err, ErrNotSent)
	_, err = a.Call(t.Context(), b.Self().ID, Log, testFail, 1, nil)
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Text != "no such thing" {
		t.Errorf("the handler's error came as %v", err)
	}
	_, err = a.Call(t.Context(), b.Self().ID, Log, 255, 1, nil)
	wantError(t, err, ErrNotSent)
	_, err = a.Call(t.Context(), "z.1", Log, testEcho, 1, nil)
	wantError(t, err, ErrUnknown)
}

func checkStream(t *testing.T, a, b *rig) {
	t.Helper()
	stream, err := a.Stream(t.Context(), b.Self().ID, testStream, 3, []byte("opened"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	sent := strings.Repeat("0123456789", 200_000)
	var writing sync.WaitGroup
	writing.Go(func() {
		if _, err := io.WriteString(stream, sent); err != nil {
			t.Error(err)
		}
	})
	got := make([]byte, len("opened ")+len(sent))
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != "opened "+sent {
		t.Errorf("%d bytes came back differently: %v", len(got), err)
	}
	writing.Wait()
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// TestOutcomes: what certainly did not happen is told from what may have.
func TestOutcomes(t *testing.T) {
	a, b := newRig(t, "a", nil), newRig(t, "b", nil)
	a.SetPeers([]Peer{b.peer()})
	id := b.Self().ID

	ctx, cancel := context.WithCancelCause(t.Context())
	given := errors.New("given up")
	lost := make(chan error)
	go func() {
		_, err := a.Call(ctx, id, Log, testWait, 0, nil)
		lost <- err
	}()
	<-b.waiting
	cancel(given)
	err := <-lost
	wantError(t, err, ErrLost)
	wantError(t, err, given)

	go func() {
		_, err := a.Call(t.Context(), id, Log, testWait, 0, nil)
		lost <- err
	}()
	<-b.waiting
	b.deaf()
	wantError(t, <-lost, ErrLost)

	for range 3 { // the first attempt is made, the others are answered by its failure
		_, err = a.Call(t.Context(), id, Log, testEcho, 0, nil)
		wantError(t, err, ErrNotSent)
	}
	b.listen(b.listener.Addr().String())
	await(t, "the restarted node answers", func() bool {
		_, err := a.Call(t.Context(), id, Log, testEcho, 0, nil)
		return err == nil
	})
}

// await waits for a condition that others bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !holds() {
		rest(ctx, 10*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func refusals(n *rig, reason Reason) float64 {
	return testutil.ToFloat64(n.metrics.refused.WithLabelValues(string(reason)))
}

// TestRefusals: each stranger is refused, counted by reason, and disturbs none.
func TestRefusals(t *testing.T) {
	dir, foreign := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, foreign} {
		if _, err := MakeCertificates(d, []string{"a", "b", "c"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	load := func(dir, name string, now func() time.Time) *Credentials {
		c, err := LoadCredentials(dir, name, now)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	b := newRig(t, "b", func(c *Config) {
		c.Credentials = load(dir, "b", time.Now)
		c.Admit = func(id Identity) error {
			if id.Name == "c" {
				return errors.New("not in the table")
			}
			return nil
		}
	})
	friend := newRig(t, "a", func(c *Config) { c.Credentials = load(dir, "a", time.Now) })
	friend.SetPeers([]Peer{b.peer()})
	tests := []struct {
		name   string
		reason Reason
		config Config
		peer   func(*Peer)
	}{
		{"no certificate", ReasonCertificate, Config{Self: Identity{"c1", "a", "a.1"}}, nil},
		{"foreign certificate", ReasonCertificate, Config{Self: Identity{"c1", "a", "a.1"}, Credentials: load(foreign, "a", time.Now)}, nil},
		{"another's certificate", ReasonCertificate, Config{Self: Identity{"c1", "b2", "b2.1"}, Credentials: load(dir, "a", time.Now)}, nil},
		{"of no member", ReasonMember, Config{Self: Identity{"c1", "c", "c.1"}, Credentials: load(dir, "c", time.Now)}, nil},
		{"another cluster", ReasonCluster, Config{Self: Identity{"c2", "a", "a.1"}, Credentials: load(dir, "a", time.Now)}, nil},
		{"another node is meant", ReasonNode, Config{Self: Identity{"c1", "a", "a.1"}, Credentials: load(dir, "a", time.Now)}, func(p *Peer) { p.ID = "b.0" }},
		{"says that it is the node itself", ReasonNode, Config{Self: Identity{"c1", "b", "b.1"}, Credentials: load(dir, "b", time.Now)}, func(p *Peer) { p.ID = "" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := refusals(b, test.reason)
			n, err := New(test.config)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			p := b.peer()
			if test.peer != nil {
				test.peer(&p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), dialWithin)
			defer cancel()
			up, run, err := n.dial(ctx, p, Log)
			if err == nil { // in TLS 1.3 a client learns at its first read
				up.close(ErrClosed)
				run()
				t.Error("not refused")
			}
			await(t, "counted", func() bool { return refusals(b, test.reason) > before })
			if got, err := friend.Call(t.Context(), b.Self().ID, Log, testEcho, 1, nil); err != nil {
				t.Errorf("the friend: %q, %v", got, err)
			}
		})
	}
}

func TestExpiredCertificate(t *testing.T) {
	dir := t.TempDir()
	if _, err := MakeCertificates(dir, []string{"a", "b"}, time.Now().AddDate(-nodeYears, 0, 1)); err != nil {
		t.Fatal(err)
	}
	tomorrow := func() time.Time { return time.Now().AddDate(0, 0, 2) }
	if _, err := LoadCredentials(dir, "a", tomorrow); err == nil {
		t.Error("an expired certificate was loaded")
	}
	credentials, err := LoadCredentials(dir, "a", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b := newRig(t, "b", func(c *Config) {
		var err error
		if c.Credentials, err = LoadCredentials(dir, "b", time.Now); err != nil {
			t.Fatal(err)
		}
		c.Credentials.now = tomorrow
	})
	a := newRig(t, "a", func(c *Config) { c.Credentials = credentials })
	a.SetPeers([]Peer{b.peer()})
	_, err = a.Call(t.Context(), b.Self().ID, Log, testEcho, 0, nil)
	wantError(t, err, ErrNotSent)
	await(t, "counted", func() bool { return refusals(b, ReasonCertificate) > 0 })
}

// TestRandomBytes: what is no frame ends its own connection alone.
func TestRandomBytes(t *testing.T) {
	a, b := newRig(t, "a", nil), newRig(t, "b", nil)
	a.SetPeers([]Peer{b.peer()})
	greeting := func() []byte {
		var sent bytes.Buffer
		h := hello{Protocol: protocol, Lane: Log, From: Identity{"c1", "x", "x.1"}}
		if err := sendHello(&sink{Writer: &sent}, h); err != nil {
			t.Fatal(err)
		}
		return sent.Bytes()
	}()
	for name, sent := range map[string][]byte{
		"HTTP":                []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"4 GiB":               {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0},
		"bad checksum":        append(appendFrame(nil, frame{kind: kindHello})[:headerLen-1], 1),
		"4 GiB after hello":   append(bytes.Clone(greeting), 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0),
		"role after hello":    append(bytes.Clone(greeting), appendFrame(nil, frame{kind: testEcho, role: roles})...),
		"not the first hello": append(bytes.Clone(greeting), 0, 0, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", b.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(sent); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) {
				t.Error("the connection stays open")
			}
			if _, err := a.Call(t.Context(), b.Self().ID, Log, testEcho, 1, nil); err != nil {
				t.Errorf("the others: %v", err)
			}
		})
	}
}

// sink is a connection that is written to.
type sink struct {
	net.Conn
	io.Writer
}

func (s *sink) Write(b []byte) (int, error)    { return s.Writer.Write(b) }
func (*sink) SetWriteDeadline(time.Time) error { return nil }
