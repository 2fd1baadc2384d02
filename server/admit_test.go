package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/seed-91e7e7c1/corona/server"
)

// A name server can make any name mean 127.0.0.1; a browser then sends that
// name as Host.
func TestRebinding(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8410}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8410}
	tests := []struct {
		host  string
		local net.Addr
		ok    bool
	}{
		{"127.0.0.1:8410", loopback, true},
		{"127.0.0.1", loopback, true},
		{"127.9.9.9:1", loopback, true},
		{"[::1]:8410", loopback, true},
		{"[::1]", loopback, true},
		{"localhost:8410", loopback, true},
		{"LOCALHOST", loopback, true},
		{"corona.localhost:8410", loopback, true},
		{"localhost.:8410", loopback, true},
		{"evil.example:8410", loopback, false},
		{"127.0.0.1.evil.example", loopback, false},
		{"localhost.evil.example", loopback, false},
		{"evillocalhost", loopback, false},
		{"192.0.2.7:8410", loopback, false},
		{"", loopback, false},
		{"[::1", loopback, false},
		{"evil.example:8410", nil, false},
		{"corona.example.net", public, true},
		{"192.0.2.7:8410", public, true},
	}
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for _, test := range tests {
		for _, target := range []string{"/v1/status", "/", "/metrics"} {
			r := request("GET", target, "")
			r.Host = test.host
			if test.local != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, test.local))
			}
			w := serve(s, r)
			if !test.ok {
				wantProblem(t, w, http.StatusMisdirectedRequest, "", "")
			} else if w.Code != http.StatusOK {
				t.Errorf("%q over %v: status %d", test.host, test.local, w.Code)
			}
		}
	}
}

// A page of another site must not subscribe, delete, or hold streams open
// through a user's local node; the node's own page and programs may.
func TestOtherSites(t *testing.T) {
	const ours, theirs = "http://127.0.0.1:8410", "https://evil.example"
	tests := []struct {
		name           string
		method, target string
		header         []string
		ok             bool
	}{
		{"program writes", "POST", "/v1/subscriptions", nil, true},
		{"our page writes", "POST", "/v1/subscriptions", []string{"Sec-Fetch-Site", "same-origin", "Origin", ours}, true},
		{"old browser, our page", "POST", "/v1/subscriptions", []string{"Origin", ours}, true},
		{"other site writes", "POST", "/v1/subscriptions", []string{"Sec-Fetch-Site", "cross-site", "Origin", theirs}, false},
		{"other site, form", "POST", "/v1/subscriptions", []string{"Sec-Fetch-Site", "cross-site", "Origin", theirs, "Content-Type", "text/plain", "Sec-Fetch-Mode", "navigate"}, false},
		{"other port writes", "POST", "/v1/subscriptions", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"}, false},
		{"old browser, other site", "POST", "/v1/subscriptions", []string{"Origin", theirs}, false},
		{"old browser, sandbox", "POST", "/v1/subscriptions", []string{"Origin", "null"}, false},
		{"other site, batch", "POST", "/v1/subscriptions:batch", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"other site deletes", "DELETE", "/v1/subscriptions/sub_1", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"other site, stream", "GET", "/v1/updates", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, false},
		{"other site, picture", "GET", "/debug/pprof/heap", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, false},
		{"link from other site", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, true},
		{"address bar", "GET", "/v1/status", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, true},
		{"our page reads", "GET", "/v1/status", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := &fakeNode{}
			s, _ := newServer(t, node, server.Config{})
			w := serve(s, request(test.method, test.target, sseBody, test.header...))
			if !test.ok {
				wantProblem(t, w, http.StatusForbidden, "", "another site")
				if len(node.subs) > 0 {
					t.Error("subscribed all the same")
				}
			} else if w.Code/100 != 2 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
}

func TestCheckListen(t *testing.T) {
	tests := []struct {
		address      string
		ok, insecure bool // allowed; allowed with insecure
	}{
		{"127.0.0.1:8410", true, true},
		{"127.5.5.5:0", true, true},
		{"[::1]:8410", true, true},
		{"[::ffff:127.0.0.1]:8410", true, true},
		{"localhost:8410", true, true},
		{"LocalHost:8410", true, true},
		{":8410", false, true},
		{"0.0.0.0:8410", false, true},
		{"[::]:8410", false, true},
		{"192.168.1.2:8410", false, true},
		{"corona.example:8410", false, true},
		{"127.0.0.1.example:8410", false, true},
		{"8410", false, false},
		{"127.0.0.1", false, false},
		{"", false, false},
	}
	for _, test := range tests {
		if err := server.CheckListen(test.address, false); (err == nil) != test.ok {
			t.Errorf("%q: %v", test.address, err)
		} else if err != nil && test.insecure && !errors.Is(err, server.ErrOpenListen) {
			t.Errorf("%q: %v is not ErrOpenListen", test.address, err)
		}
		if err := server.CheckListen(test.address, true); (err == nil) != test.insecure {
			t.Errorf("%q with insecure: %v", test.address, err)
		}
	}
}
