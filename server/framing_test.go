package server_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/server"
)

// exchange sends bytes over a connection of their own and returns all that comes
// back until the server closes it.
func exchange(t *testing.T, address string, sent []byte) (answers []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(8 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(sent); err != nil {
		t.Errorf("write: %v", err)
	}
	answers, err = io.ReadAll(conn)
	if err != nil {
		t.Errorf("read until the server closes: %v", err)
	}
	return answers
}

// statuses returns the status of each answer in a run of answers.
func statuses(t *testing.T, answers []byte) (codes []int) {
	t.Helper()
	from := bufio.NewReader(bytes.NewReader(answers))
	for {
		if _, err := from.Peek(1); err == io.EOF {
			return codes
		}
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("after %v: %v in %q", codes, err, answers)
		}
		drain(answer.Body)
		codes = append(codes, answer.StatusCode)
	}
}

// Row 36: a request that a proxy in front of the node may take to end elsewhere
// than the node does is answered once, and the connection closes: what follows is
// never taken for another request (RFC 9112, sections 6.3 and 11.2).
func TestRow36AmbiguousFraming(t *testing.T) {
	const hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const chunks = "0\r\n\r\n"
	post := func(lines string) string {
		return "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n"
	}
	tests := []struct {
		name, sent string
		status     int
	}{
		{"length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + chunks, 400},
		{"chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + chunks, 400},
		{"length 0 and chunks", post("content-length:0\r\ntransfer-encoding:chunked\r\n") + chunks, 400},
		{"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n") + chunks, 400},
		{"two equal lengths", post("Content-Length: 5\r\nContent-Length: 5\r\n") + chunks, 400},
		{"list of lengths", post("Content-Length: 5, 5\r\n") + chunks, 400},
		{"signed length", post("Content-Length: +5\r\n") + chunks, 400},
		{"negative length", post("Content-Length: -5\r\n") + chunks, 400},
		{"hexadecimal length", post("Content-Length: 0x5\r\n") + chunks, 400},
		{"empty length", post("Content-Length:\r\n") + chunks, 400},
		{"long length", post("Content-Length: "+strings.Repeat("0", 200)+"5\r\n") + chunks, 400},
		{"identity", post("Transfer-Encoding: identity\r\n"), 501},
		{"identity and length", post("Content-Length: 5\r\nTransfer-Encoding: identity\r\n") + chunks, 501},
		{"two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n") + chunks, 501},
		{"list of codings", post("Transfer-Encoding: chunked, identity\r\n") + chunks, 501},
		{"unknown coding", post("Transfer-Encoding: xchunked\r\n") + chunks, 501},
		{"space before the colon", post("Transfer-Encoding : chunked\r\n") + chunks, 400},
		{"folded coding", post("Transfer-Encoding:\r\n chunked\r\n") + chunks, 400},
		{"folded length", post("Content-Length:\r\n\t5\r\n") + chunks, 400},
		{"coding in a fold", post("X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + chunks, 400},
		{"LF alone", "POST /v1/subscriptions HTTP/1.1\nHost: localhost\n\n", 400},
		{"coding behind LF", post("X: a\nTransfer-Encoding: chunked\r\n") + chunks, 400},
		{"length behind LF", post("X: a\nContent-Length: 5\r\n") + chunks, 400},
		{"end of the head in LF", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\n\n", 400},
		{"CR alone", post("X: a\rTransfer-Encoding: chunked\r\n"), 400},
		{"NUL", post("X: a\x00\r\nContent-Length: 0\r\n"), 400},
		{"HTTP/1.0 with chunks", "POST /v1/subscriptions HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"chunks", post("Transfer-Encoding: chunked\r\n") + strconv.FormatInt(int64(len(sseBody)), 16) + "\r\n" + sseBody + "\r\n" + chunks, 201},
	}
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers := exchange(t, listener.Addr().String(), []byte(test.sent+hidden))
			if codes := statuses(t, answers); len(codes) != 1 || codes[0] != test.status {
				t.Errorf("answered %v, want %d alone: %s", codes, test.status, answers)
			}
			if !bytes.Contains(answers, []byte("Connection: close")) {
				t.Errorf("the answer does not say that the connection closes: %s", answers)
			}
		})
	}
}

// What is not ambiguous goes on: requests may follow each other on a connection.
func TestRequestsInARow(t *testing.T) {
	post := "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(sseBody)) + "\r\n\r\n" + sseBody
	get := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	last := "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	answers := exchange(t, listener.Addr().String(), []byte(get+post+"\r\n"+post+strings.Repeat(get, 300)+last))
	codes := statuses(t, answers)
	if len(codes) != 304 || codes[0] != 200 || codes[1] != 201 || codes[2] != 201 || codes[303] != 200 {
		t.Errorf("%d answers: %v", len(codes), codes)
	}
}

// Row 36: a refusal reaches the client that sends all of a long body before it
// reads, whatever refuses it.
func TestRow36RefusalReachesSender(t *testing.T) {
	body := bytes.Repeat([]byte(`{"x":1}`+"\n"), 10<<20/8)
	chunked := inChunks(body, 1<<20)
	tests := []struct {
		name, head string
		body       []byte
		status     int
	}{
		{"too long", "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n", body, 413},
		{"too long in chunks", "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", chunked, 413},
		{"nothing there", "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n", body, 404},
		{"other host", "POST /v1/subscriptions:batch HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n", body, 421},
		{"bad batch", "POST /v1/subscriptions:batch?x=1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", chunked, 400},
		{"ambiguous", "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", chunked, 400},
	}
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	listener := listen(t)
	run(t, s, listener)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers := exchange(t, listener.Addr().String(), append([]byte(test.head), test.body...))
			if codes := statuses(t, answers); len(codes) != 1 || codes[0] != test.status {
				t.Errorf("answered %v, want %d: %.300s", codes, test.status, answers)
			}
		})
	}
}

// inChunks writes a body as chunks of a length (RFC 9112, section 7.1).
func inChunks(body []byte, length int) (chunks []byte) {
	for len(body) > 0 {
		n := min(length, len(body))
		chunks = append(strconv.AppendInt(chunks, int64(n), 16), "\r\n"...)
		chunks = append(append(chunks, body[:n]...), "\r\n"...)
		body = body[n:]
	}
	return append(chunks, "0\r\n\r\n"...)
}
