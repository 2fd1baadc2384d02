package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// Class says what kept a fetch from ending in a response: the one thing about a
// failure that callers, metrics and backoff branch on.
type Class uint8

// The classes. Their order and values are internal; String is stable.
const (
	Canceled  Class = iota // the caller's context was cancelled, its permit had ended, or the Fetcher closed
	Busy                   // a budget of ours is used up, of connections, lookups or memory: our load, not the origin's fault
	Forbidden              // the address or port must not be called; nothing was sent to it
	DNS                    // the name has no address, or its servers do not answer
	Connect                // no TCP connection
	TLS                    // handshake or certificate
	Timeout                // the deadline of the whole fetch passed
	Reset                  // the connection ended before the response did
	TooLarge               // body or head beyond its limit
	Encoding               // the body is not in the content coding that it declares, or in none that we know
	Redirect               // too many redirects, a loop, or a target that cannot be followed
	Protocol               // not HTTP/1.1 as we must read it
	classes                // their number
)

var classNames = [classes]string{
	Canceled: "canceled", Busy: "busy", Forbidden: "forbidden", DNS: "dns", Connect: "connect", TLS: "tls", Timeout: "timeout",
	Reset: "reset", TooLarge: "too_large", Encoding: "encoding", Redirect: "redirect", Protocol: "protocol",
}

// String returns the class in snake case, as metrics label it.
func (c Class) String() string {
	if c < classes {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Error is what [Fetcher.Fetch] returns when no response came to its end.
type Error struct {
	Class Class
	URL   string // the URL that was being asked: the request's, or a redirect's target
	Err   error  // what happened; never nil

	// WireBytes counts what was received all the same.
	WireBytes int64

	// Sent is when the request had been written; zero: it was not.
	Sent time.Time

	// Waited is how long of the fetch the body had to wait for memory.
	Waited time.Duration

	// Memory is what to reserve for the body the next time, in bytes; 0: it is small, or
	// that is not known.
	Memory int64
}

func (e *Error) Error() string {
	return fmt.Sprintf("fetch %s: %s: %s", clip(e.URL), e.Class, clip(e.Err.Error()))
}

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// ErrClosed is wrapped by errors of fetches that begin after [Fetcher.Close].
var ErrClosed = errors.New("fetcher is closed")

// errPermit says that the right to send a request ended before it was written.
var errPermit = &failure{Canceled, errors.New("the right to ask ended before the request was sent")}

// failure is an error whose class is known where it arises.
type failure struct {
	class Class
	err   error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(class Class, format string, args ...any) error {
	return &failure{class, fmt.Errorf(format, args...)}
}

// handshakeError marks an error of a TLS handshake: certificates, versions, a
// server that does not speak TLS, or HTTP/2 alone.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// classify finds the class of an error, the specific before the general. It is
// the only place that knows.
func classify(ctx context.Context, err error) Class {
	var (
		known    *failure
		dnsError *net.DNSError
	)
	switch {
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, ErrClosed):
		return Canceled
	case errors.As(err, &known):
		return known.class
	case errors.Is(err, guard.ErrForbidden):
		return Forbidden
	case isOurs(err):
		return Busy
	case errors.As(err, &dnsError):
		return DNS
	case isTimeout(err):
		return Timeout
	case isTLS(err):
		return TLS
	case isDial(err):
		return Connect
	case isCut(err):
		return Reset
	}
	return Protocol
}

func isTimeout(err error) bool {
	var netError net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netError) && netError.Timeout()
}

// isOurs reports that this machine, not the origin, could not: it has no more
// descriptors, ports or buffers.
func isOurs(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}

// isTLS reports errors of a handshake, and those that a TLS connection has later:
// records that are none, and alerts.
func isTLS(err error) bool {
	var (
		handshake *handshakeError
		record    tls.RecordHeaderError
		op        *net.OpError
	)
	return errors.As(err, &handshake) || errors.As(err, &record) ||
		errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// isCut reports that the other side ended the connection.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}

// clip shortens what an origin may have sent, for an error's text.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
