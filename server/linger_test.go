package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/server"
)

// refusedSender sends the head of a request that is refused, with a gigabyte to
// follow, and returns its connection when the refusal has come.
func refusedSender(t *testing.T, listener *pipeListener) net.Conn {
	t.Helper()
	conn, err := listener.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 1<<30)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if drain(response.Body); response.StatusCode != http.StatusRequestEntityTooLarge || !response.Close {
		t.Errorf("status %d, closes %t", response.StatusCode, response.Close)
	}
	synctest.Wait()
	return conn
}

// Row 37: a client that goes on sending after its refusal is cut off after 16 MiB,
// one that sends nothing after 5 s, and where connections are few it makes room.
func TestRow37RefusedSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, &fakeNode{}, server.Config{MaxConns: 1})
		listener := newPipeListener()
		run(t, s, listener)

		begun := time.Now()
		silent := refusedSender(t, listener)
		_, _ = io.Copy(io.Discard, silent) // until it is closed
		if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("a silent one was cut off after %s", took)
		}

		sent, err := io.Copy(refusedSender(t, listener), &endless{})
		if err == nil || sent < 16<<20 || sent > 17<<20 {
			t.Errorf("one that goes on was cut off after %d bytes: %v", sent, err)
		}

		begun = time.Now()
		refusedSender(t, listener)
		conn, err := listener.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if response, err := ask(conn, "/healthz"); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("another client: %+v, %v", response, err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("another client waited %s", took)
		}
	})
}
