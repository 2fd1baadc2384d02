package arrival

import (
	"crypto/tls"
	"net"
	"time"
)

// Stamp has the kernel note when connections of a listener of TCP receive something;
// [OfConn] tells it.
func Stamp(l net.Listener) (net.Listener, error) {
	if _, err := stamped(l.(*net.TCPListener)); err != nil {
		return nil, err
	}
	return Listener{l}, nil
}

// OfConn returns when the kernel received what was read last from a connection, if it said
// so.
func OfConn(c net.Conn) (at time.Time, known bool) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	stamped, ok := c.(*conn)
	if !ok || stamped.last.IsZero() {
		return at, false
	}
	return stamped.last, true
}
