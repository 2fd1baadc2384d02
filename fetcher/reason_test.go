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
	"regexp"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// TestReasons holds that each class is told in a plain sentence, whatever library,
// address or type its error names.
func TestReasons(t *testing.T) {
	internals := regexp.MustCompile(`fasthttp|tcp|context|deadline|syscall|x509|tls:|bufio|EOF|127\.0\.0\.1|lookup|errno|\*|_|%!|%w|zlib:|gzip:|parse "`)
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4321}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: err} }
	read := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: address, Addr: address, Err: err}
	}
	verify := func(err error) error { return &handshakeError{&tls.CertificateVerificationError{Err: err}} }
	tests := []struct {
		class Class
		err   error
		want  string
	}{
		{Canceled, context.Canceled, "the poll was stopped"},
		{Busy, fail(Busy, "a body takes %d bytes of memory", 9), "this node had no room for the answer"},
		{Forbidden, dial(fmt.Errorf("control: %w", guard.ErrForbidden)), "the address or port must not be asked"},
		{Forbidden, fail(Forbidden, "redirect to %s: %w", "http://127.0.0.1/", guard.ErrForbidden), "the address or port must not be asked"},
		{DNS, dial(&net.DNSError{Err: "no such host", Name: "a.example", Server: "127.0.0.1:53", IsNotFound: true}), "the host's name cannot be looked up: there is no such host"},
		{DNS, dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), "the host's name cannot be looked up: the name servers do not answer"},
		{DNS, dial(&net.DNSError{Err: "server misbehaving"}), "the host's name cannot be looked up"},
		{Connect, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "no connection to the host: it refuses them"},
		{Connect, dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), "no connection to the host: it cannot be reached from here"},
		{Connect, dial(os.NewSyscallError("connect", syscall.EACCES)), "no connection to the host"},
		{TLS, verify(x509.UnknownAuthorityError{}), "no secure connection to the host: its certificate is from an authority that is not trusted"},
		{TLS, verify(x509.HostnameError{Host: "a.example", Certificate: &x509.Certificate{}}), "no secure connection to the host: its certificate is for another name"},
		{TLS, verify(x509.CertificateInvalidError{Reason: x509.Expired}), "no secure connection to the host: its certificate has expired, or is not valid yet"},
		{TLS, verify(x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}), "no secure connection to the host: its certificate is not valid"},
		{TLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "no secure connection to the host"},
		{Timeout, context.DeadlineExceeded, "the host did not answer in time"},
		{Timeout, read(os.ErrDeadlineExceeded), "the host did not answer in time"},
		{Timeout, errSlow, "the host did not answer in time: its answer came too slowly while others waited for memory"},
		{Reset, read(os.NewSyscallError("read", syscall.ECONNRESET)), "the connection ended before the answer did"},
		{Reset, fail(Reset, "body ends after %d of %d bytes", 4, 100), "the connection ended before the answer did: body ends after 4 of 100 bytes"},
		{TooLarge, tooLarge(8), "the answer is too large: body larger than 8 bytes"},
		{Encoding, fail(Encoding, "%s: %w", "gzip", io.ErrUnexpectedEOF), "the content cannot be decoded"},
		{Encoding, fail(Encoding, "unknown content coding %q", "compress"), `the content cannot be decoded: unknown content coding "compress"`},
		{Redirect, fail(Redirect, "more than %d redirects", 5), "the redirect cannot be followed: more than 5 redirects"},
		{Redirect, fail(Redirect, "Location: %w", errors.New(`parse "http://[::1/": missing ']' in host`)), "the redirect cannot be followed"},
		{Protocol, fail(Protocol, "%w", &fasthttp.ErrSmallBuffer{}), "the answer is not HTTP/1.1 as it must be"},
		{Protocol, errors.New("malformed chunked encoding"), "the answer is not HTTP/1.1 as it must be"},
		{Protocol, fail(Protocol, "status %d", 999), "the answer is not HTTP/1.1 as it must be: status 999"},
	}
	seen := make(map[Class]bool)
	for _, test := range tests {
		if got := classify(t.Context(), test.err); got != test.class && test.class != Canceled {
			t.Errorf("class %s of %v; want %s", got, test.err, test.class)
		}
		e := &Error{Class: test.class, URL: "http://a.example/", Err: test.err}
		if got := e.Reason(); got != test.want || internals.MatchString(got) {
			t.Errorf("%v: %q; want %q", test.err, got, test.want)
		}
		seen[test.class] = true
	}
	for class := range classes {
		if !seen[class] {
			t.Errorf("no case for class %s", class)
		}
	}
}

// TestReasonsOfBadInput holds the same of every bad answer that is played elsewhere.
func TestReasonsOfBadInput(t *testing.T) {
	internals := regexp.MustCompile(`fasthttp|tcp|context|deadline|syscall|bufio|EOF|127\.0\.0\.1|header|0x`)
	for _, test := range append(append(badFramings(), cutAnswers()...), unaskedAnswers()...) {
		o := listen(t, test.handle)
		f := newTestFetcher(t, Config{AllowPrivate: true, MaxBody: mebibyte})
		_, err := f.Fetch(t.Context(), Request{URL: o.url})
		var failed *Error
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v", test.row, err)
			continue
		}
		if reason := failed.Reason(); internals.MatchString(reason) || reason == "" {
			t.Errorf("%s: %q", test.row, reason)
		}
	}
}
