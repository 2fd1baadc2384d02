package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
)

// admit refuses what a web page of another site may have made a browser send. A
// node on a loopback address trusts every client that reaches it, and every page that
// its user opens can: by a name that was rebound to 127.0.0.1, or across sites.
// Where a token is wanted such pages have none, and browsers add none by themselves.
func (s *Server) admit(r *http.Request) error {
	if s.cfg.Tokens.Wanted() {
		return nil
	}
	if overLoopback(r) && !isLocalName(r.Host) {
		return api.NewProblem(http.StatusMisdirectedRequest,
			"a node on a loopback address answers to localhost and loopback addresses, not to "+clip(r.Host))
	}
	if err := s.browsers.Check(r); err != nil || isCrossSiteRead(r) {
		return api.NewProblem(http.StatusForbidden, "a page of another site sent this request")
	}
	return nil
}

// overLoopback reports whether the request came over a loopback address. What
// is not known to have come otherwise, did.
func overLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || local.IP.IsLoopback()
}

// isLocalName reports whether a Host header names this machine in a way that no
// name server can change.
func isLocalName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true // RFC 6761, section 6.3
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// isCrossSiteRead reports a read by another site's page. The browser would keep
// the answer from it, but streams and profiles cost us something all the same.
// Links from other sites are let through.
func isCrossSiteRead(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
