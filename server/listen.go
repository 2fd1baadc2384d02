package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// ErrOpenListen says that an address can be reached from other machines, which
// needs API tokens.
var ErrOpenListen = errors.New("not a loopback address")

// CheckListen decides whether a node may listen on an address, "host:port".
// Without tokens, all that can reach the API can use it, so only loopback addresses
// are allowed; open, for a node with tokens or one that is to be insecure, allows
// every address. The error is [ErrOpenListen] or says what is wrong with the
// address. No name is resolved: but for localhost, names are not known to be
// loopback.
func CheckListen(address string, open bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: want HOST:PORT: %w", address, err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("listen address %q: port %q: want 0 to 65535", address, port)
	}
	if open || guard.IsLoopback(host) {
		return nil
	}
	return fmt.Errorf("listen address %q: %w: every client that reaches it could use the API; set tokens with CORONA_API_TOKEN_FILE or --api-token, listen on 127.0.0.1, or pass --insecure-api", address, ErrOpenListen)
}
