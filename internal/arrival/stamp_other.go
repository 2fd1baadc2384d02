//go:build !linux

// Package arrival notes when nodes ask origins, by when the kernel received it, on Linux.
package arrival

import (
	"net"
	"time"
)

// Stamp returns the listener: the kernel is not asked here.
func Stamp(l net.Listener) (net.Listener, error) { return l, nil }

// OfConn knows nothing here.
func OfConn(net.Conn) (at time.Time, known bool) { return at, false }
