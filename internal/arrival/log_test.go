//go:build linux

package arrival

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestEarly(t *testing.T) {
	const floor = 500 * time.Millisecond
	l := NewLog(time.Now())
	for n := range 10 {
		at := time.Duration(n) * floor
		l.note("/x", poll{address: "a", at: at})
		l.note("/x", poll{address: "b", at: at + time.Millisecond})
		l.note("/y", poll{address: "a", at: at + floor/2})
	}
	l.note("/x", poll{address: "a", at: 10*floor - Error})
	if early, closest := l.Early(floor); len(early) > 0 || closest != floor-Error {
		t.Errorf("early: %v, the closest %s", early, closest)
	}
	l.note("/x", poll{address: "a", at: 12 * floor})
	l.note("/x", poll{address: "a", at: 11*floor - 2*Error - time.Millisecond}) // noted late
	if early, closest := l.Early(floor); len(early) != 1 || early[0] != "a asked for /x at 5.479s, 489ms after it had" || closest != 489*time.Millisecond {
		t.Errorf("early: %v, the closest %s", early, closest)
	}
}

// A request is noted by when it arrived, also when it is read later.
func TestArrival(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLog(time.Now())
	noted, accept := make(chan time.Duration, 1), make(chan struct{})
	server := &httptest.Server{Listener: gated{listener, accept}, Config: &http.Server{
		ConnContext: WithConn,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, at := l.Note(r)
			noted <- at
		}),
	}}
	server.Start()
	defer server.Close()
	defer close(accept)
	for tries := 0; time.Since(l.began) < patience; tries++ {
		conn, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
		sent := time.Since(l.began)
		if err != nil {
			t.Fatal(err)
		}
		accept <- struct{}{}
		at := <-noted
		conn.Close()
		if l.Count() != tries+1 {
			t.Fatalf("%d polls after %d requests", l.Count(), tries+1)
		}
		if at <= sent {
			return
		}
	}
	t.Error("no request was noted when it arrived: the kernel begins to stamp a moment after it is asked to, not later than that")
}

// patience is how long the kernel may take to begin with its stamps.
const patience = 10 * time.Second

// gated is a listener that accepts each connection when it is told to, after the request
// on it has been sent.
type gated struct {
	Listener
	accept <-chan struct{}
}

func (g gated) Accept() (net.Conn, error) {
	<-g.accept
	return g.Listener.Accept()
}
