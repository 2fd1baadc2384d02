package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

const (
	maxAnswer       = 64 << 10 // bytes of an answer that are read
	maxAnswerHeader = 64 << 10
	maxRetryAfter   = 24 * time.Hour // that an endpoint may ask for
	dialTimeout     = 10 * time.Second
	idleTimeout     = 90 * time.Second
	idleConns       = 1024
	idleConnsOfHost = 128 // many endpoints may share a host
)

// Class is how a webhook failed.
type Class string

// The classes of failure.
const (
	ClassForbidden Class = "forbidden" // the address may not be called; nothing was sent
	ClassDNS       Class = "dns"
	ClassConnect   Class = "connect"
	ClassTLS       Class = "tls"
	ClassTimeout   Class = "timeout"
	ClassBroken    Class = "broken" // the connection ended before the answer did
	ClassRedirect  Class = "redirect"
	ClassStatus    Class = "status" // neither 2xx nor 3xx nor 410
	ClassGone      Class = "gone"   // 410
	ClassSecret    Class = "secret" // the message cannot be signed
	ClassCanceled  Class = "canceled"
)

// CallError is the failure of a webhook.
type CallError struct {
	Class      Class
	Status     int           // 0 when there was no answer
	RetryAfter time.Duration // wait that the endpoint asked for; 0 for none
	Err        error
}

func (e *CallError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("endpoint answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s: %v", e.Class, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// Mends reports whether the same call may succeed later with the endpoint and the
// subscription as they are.
func (e *CallError) Mends() bool {
	switch e.Class {
	case ClassForbidden, ClassRedirect, ClassGone, ClassSecret:
		return false
	case ClassStatus:
		return e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooEarly || e.Status == http.StatusTooManyRequests
	}
	return true
}

// caller makes one webhook request.
type caller struct {
	transport http.RoundTripper
	userAgent string
	timeout   time.Duration
}

func newCaller(config Config) *caller {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: guard.Control(config.AllowPrivate)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // one connection per request under way: a stuck one delays no other
	return &caller{userAgent: config.UserAgent, timeout: config.Timeout, transport: &http.Transport{
		DialContext:            dialer.DialContext,
		Protocols:              protocols,
		DisableCompression:     true, // or a small answer could be a large one
		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConnsOfHost,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
	}}
}

func (c *caller) close() {
	if transport, ok := c.transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
}

// call sends a message and returns nil once the endpoint has acknowledged it: a
// 2xx whose answer came whole, or as much of it as is read. The error is a
// [*CallError]. Redirects are not followed.
func (c *caller) call(ctx context.Context, sub channel.Subscription, m message) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, sub, m, time.Now())
	if err != nil {
		return &CallError{Class: ClassSecret, Err: err}
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return &CallError{Class: classify(ctx, err), Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols { // its body is the connection, which knows nothing of ctx
		return &CallError{Class: ClassStatus, Status: response.StatusCode}
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	if class := statusClass(response.StatusCode); class != "" {
		return &CallError{Class: class, Status: response.StatusCode, RetryAfter: retryAfter(response, time.Now())}
	}
	if err != nil {
		return &CallError{Class: classify(ctx, err), Err: fmt.Errorf("read answer: %w", err)}
	}
	return nil
}

func (c *caller) request(ctx context.Context, sub channel.Subscription, m message, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.Sink.URL, bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", c.userAgent)
	request.Header.Set(standardwebhooks.HeaderWebhookID, m.id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if sub.Sink.Secret == "" {
		return request, nil
	}
	signer, err := standardwebhooks.NewWebhook(sub.Sink.Secret)
	if err != nil {
		return nil, errors.New("the sink's secret cannot be read") // the cause would quote from it
	}
	signature, err := signer.Sign(m.id, now, m.body)
	if err != nil {
		return nil, err
	}
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return request, nil
}

// statusClass returns the class of a failure, empty for a 2xx.
func statusClass(status int) Class {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status >= 300 && status < 400:
		return ClassRedirect
	case status == http.StatusGone:
		return ClassGone
	}
	return ClassStatus
}

// retryAfter returns the wait that a 429 or 503 asks for in Retry-After (RFC 9110,
// section 10.2.3), at most maxRetryAfter; 0 when there is none, or none that can be
// read.
func retryAfter(response *http.Response, now time.Time) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	value := response.Header.Get("Retry-After")
	seconds, err := strconv.ParseUint(value, 10, 32)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		now = date // its clock, whatever it shows
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// classify names what went wrong under way, the specific before the general.
func classify(ctx context.Context, err error) Class {
	var (
		dns       *net.DNSError
		operation *net.OpError
		timeout   net.Error
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, guard.ErrForbidden):
		return ClassForbidden
	case errors.Is(ctx.Err(), context.Canceled):
		return ClassCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ClassTimeout
	case errors.As(err, &dns):
		return ClassDNS
	case errors.As(err, &verify), errors.As(err, &alert), errors.As(err, &record):
		return ClassTLS
	case errors.As(err, &operation) && operation.Op == "dial":
		return ClassConnect
	}
	return ClassBroken
}
