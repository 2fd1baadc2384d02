package fetcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

func TestClassify(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	read := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	tests := []struct {
		ctx  context.Context
		err  error
		want Class
	}{
		{cancelled, read(os.ErrDeadlineExceeded), Canceled},
		{cancelled, context.Canceled, Canceled},
		{nil, ErrClosed, Canceled},
		{nil, fail(Busy, "all in use"), Busy},
		{nil, dial(fmt.Errorf("control: %w", guard.ErrForbidden)), Forbidden},
		{nil, fail(Redirect, "to: %w", guard.ErrForbidden), Redirect},
		{nil, dial(&net.DNSError{Err: "no such host", IsNotFound: true}), DNS},
		{nil, dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), DNS},
		{nil, context.DeadlineExceeded, Timeout},
		{nil, dial(os.ErrDeadlineExceeded), Timeout},
		{nil, read(os.ErrDeadlineExceeded), Timeout},
		{nil, &handshakeError{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, TLS},
		{nil, &handshakeError{io.EOF}, TLS},
		{nil, &handshakeError{read(syscall.ECONNRESET)}, TLS},
		{nil, tls.RecordHeaderError{Msg: "not TLS"}, TLS},
		{nil, &net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")}, TLS},
		{nil, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Connect},
		{nil, dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), Connect},
		{nil, dial(os.NewSyscallError("socket", syscall.EMFILE)), Busy},
		{nil, dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), Busy},
		{nil, &net.DNSError{UnwrapErr: os.NewSyscallError("socket", syscall.ENFILE), Err: "socket"}, Busy},
		{nil, io.EOF, Reset},
		{nil, io.ErrUnexpectedEOF, Reset},
		{nil, read(os.NewSyscallError("read", syscall.ECONNRESET)), Reset},
		{nil, &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, Reset},
		{nil, fail(TooLarge, "body"), TooLarge},
		{nil, fail(Encoding, "gzip: %w", io.ErrUnexpectedEOF), Encoding},
		{nil, fail(Protocol, "head"), Protocol},
		{nil, errors.New("anything else"), Protocol},
	}
	seen := make(map[Class]bool)
	for _, test := range tests {
		ctx := test.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		if got := classify(ctx, test.err); got != test.want {
			t.Errorf("classify(%v) = %s; want %s", test.err, got, test.want)
		}
		seen[test.want] = true
	}
	for class := range classes {
		if !seen[class] {
			t.Errorf("no case for class %s", class)
		}
	}
}

func TestClassNames(t *testing.T) {
	names := make(map[string]bool)
	for class := range classes {
		name := class.String()
		if name == "" || names[name] || strings.ContainsAny(name, " ()") {
			t.Errorf("class %d is called %q", class, name)
		}
		names[name] = true
	}
	if got := classes.String(); got != "class(12)" {
		t.Errorf("a class that does not exist is called %q", got)
	}
}

func TestErrorText(t *testing.T) {
	err := &Error{Class: Reset, URL: "http://feeds.example/", Err: fmt.Errorf("while reading: %w", io.ErrUnexpectedEOF)}
	if got := err.Error(); got != "fetch http://feeds.example/: reset: while reading: unexpected EOF" {
		t.Error(got)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	long := &Error{URL: strings.Repeat("u", 9000), Err: errors.New(strings.Repeat("e", 9000))}
	if n := len(long.Error()); n > 500 {
		t.Errorf("a text of %d bytes", n)
	}
}

func TestRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String() + "/"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	f := newTestFetcher(t, Config{AllowPrivate: true})
	_, err = f.Fetch(t.Context(), Request{URL: url})
	wantClass(t, err, Connect)
	if f.pool.open() != 0 {
		t.Errorf("%d connections open", f.pool.open())
	}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		config Config
		want   string // in the error, "" for none
	}{
		{Config{}, ""},
		{Config{Version: "1.0", Contact: "mailto:webmaster@corona.example"}, ""},
		{Config{Timeout: -1}, "Timeout"},
		{Config{MaxIdleConnDuration: -1}, "MaxIdleConnDuration"},
		{Config{MaxBody: -1}, "negative"},
		{Config{MaxHeader: -1}, "negative"},
		{Config{MaxRedirects: -1}, "negative"},
		{Config{MaxConns: -1}, "negative"},
		{Config{Contact: "x\r\nCookie: y"}, "Contact"},
		{Config{Version: "ä"}, "Version"},
	}
	for _, test := range tests {
		f, err := New(test.config, nil)
		if err == nil {
			f.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%+v): %v; want %q", test.config, err, test.want)
		}
	}
}
