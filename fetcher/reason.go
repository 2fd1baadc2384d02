package fetcher

import (
	"crypto/x509"
	"errors"
	"net"
	"syscall"
)

// reasons say for people what each class means.
var reasons = [classes]string{
	Canceled:  "the poll was stopped",
	Busy:      "this node had no room for the answer",
	Forbidden: "the address or port must not be asked",
	DNS:       "the host's name cannot be looked up",
	Connect:   "no connection to the host",
	TLS:       "no secure connection to the host",
	Timeout:   "the host did not answer in time",
	Reset:     "the connection ended before the answer did",
	TooLarge:  "the answer is too large",
	Encoding:  "the content cannot be decoded",
	Redirect:  "the redirect cannot be followed",
	Protocol:  "the answer is not HTTP/1.1 as it must be",
}

// Reason says in plain words what happened, for people: without the URL, without
// addresses of this machine, and without the words of a library.
func (e *Error) Reason() string {
	reason := "the fetch failed"
	if e.Class < classes {
		reason = reasons[e.Class]
	}
	if detail := e.detail(); detail != "" {
		reason += ": " + detail
	}
	return reason
}

// detail returns what is known beyond the class, "" when that is nothing. What this
// package says itself it says in plain words; of what it wraps only the kind is told.
func (e *Error) detail() string {
	var known *failure
	switch {
	case e.Class == Busy || e.Class == Canceled:
		return ""
	case errors.As(e.Err, &known):
		if errors.Unwrap(known.err) == nil {
			return clip(known.err.Error())
		}
		return ""
	}
	switch e.Class {
	case DNS:
		return dnsDetail(e.Err)
	case Connect:
		return connectDetail(e.Err)
	case TLS:
		return tlsDetail(e.Err)
	}
	return ""
}

func dnsDetail(err error) string {
	var failed *net.DNSError
	switch {
	case !errors.As(err, &failed):
		return ""
	case failed.IsNotFound:
		return "there is no such host"
	case failed.IsTimeout:
		return "the name servers do not answer"
	}
	return ""
}

func connectDetail(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses them"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "it cannot be reached from here"
	}
	return ""
}

func tlsDetail(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is from an authority that is not trusted"
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet"
	case errors.As(err, &invalid):
		return "its certificate is not valid"
	}
	return ""
}
