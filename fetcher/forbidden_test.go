package fetcher

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestForbiddenRedirects is row 14, and row 16 behind a redirect: nothing is
// dialled but the origin that redirects, even by a caller that goes on to where it
// was not told to.
func TestForbiddenRedirects(t *testing.T) {
	tests := []struct {
		target       string
		allowPrivate bool
	}{
		{"http://169.254.169.254/latest/meta-data/", false},
		{"http://[::1]/", false},
		{"http://[::ffff:127.0.0.1]/", false},
		{"http://[64:ff9b::7f00:1]/", false},
		{"http://0.0.0.0/", false},
		{"http://127.0.0.1:8410/v1/subscriptions", false},
		{"http://10.0.0.1/", false},
		{"http://localhost/", false},
		{"http://LOCALHOST./", false},
		{"http://0177.0.0.1/", false},
		{"http://0177.0.0.1/", true},
		{"http://0x7f.1/", true},
		{"http://2130706433/", false},
		{"http://2130706433/", true},
		{"http://other.example:22/", true},
		{"https://other.example:25/", false},
		{"http://127.0.0.1:6379/", true},
	}
	for _, test := range tests {
		n, o := memory(t, once("HTTP/1.1 302 Found\r\nLocation: "+test.target+"\r\nContent-Length: 0\r\n\r\n"))
		var dialled []string
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return n.dial(ctx, network, address)
		}
		f := newTestFetcher(t, Config{Dial: dial, AllowPrivate: test.allowPrivate})
		_, err := f.Fetch(t.Context(), Request{URL: o.url})
		wantClass(t, err, Forbidden)
		target, err := channel.Canonical(test.target)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Fetch(t.Context(), Request{URL: target, Trail: []string{o.url}})
		wantClass(t, err, Forbidden)
		if len(dialled) != 1 {
			t.Errorf("redirect to %s: dialled %q", test.target, dialled)
		}
	}
}

// TestForbiddenURLs is row 16, and literal addresses, as the request's own URL.
func TestForbiddenURLs(t *testing.T) {
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("dialled %s", address)
		return nil, net.ErrClosed
	}
	f := newTestFetcher(t, Config{Dial: dial})
	lax := newTestFetcher(t, Config{Dial: dial, AllowPrivate: true})
	for _, url := range []string{"http://feeds.example:22/", "http://feeds.example:25/", "https://feeds.example:6379/"} {
		_, err := f.Fetch(t.Context(), Request{URL: url})
		wantClass(t, err, Forbidden)
		_, err = lax.Fetch(t.Context(), Request{URL: url})
		wantClass(t, err, Forbidden)
	}
	for _, url := range []string{"http://127.0.0.1/", "http://[::1]:8080/", "http://localhost:9100/"} {
		_, err := f.Fetch(t.Context(), Request{URL: url})
		wantClass(t, err, Forbidden)
	}
	for _, url := range []string{"", "ftp://feeds.example/", "http://feeds.example", "http:///x", "http://feeds.example/a b", "http://a@feeds.example/", "http://feeds.example/\r\nX: y"} {
		_, err := f.Fetch(t.Context(), Request{URL: url})
		wantClass(t, err, Protocol)
	}
}

// TestRebinding is row 15: a name that showed a public address when it was
// subscribed to shows private ones when it is dialled.
func TestRebinding(t *testing.T) {
	victim := listen(t, func(*side) { t.Error("a connection was made") })
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(victim.url, "http://"), "/feed"), ":")
	url := fmt.Sprintf("http://rebind.example:%s/feed", port)
	tests := []struct {
		name string
		ipv4 [][4]byte
		ipv6 [][16]byte
	}{
		{"loopback", [][4]byte{{127, 0, 0, 1}}, nil},
		{"several", [][4]byte{{10, 0, 0, 1}, {127, 0, 0, 1}, {169, 254, 169, 254}}, nil},
		{"mapped", nil, [][16]byte{{10: 0xff, 11: 0xff, 12: 127, 15: 1}}},
		{"NAT64", nil, [][16]byte{{1: 0x64, 2: 0xff, 3: 0x9b, 12: 127, 15: 1}}},
		{"unspecified", [][4]byte{{}}, [][16]byte{{}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			names := serveDNS(t)
			names.answer([][4]byte{{93, 184, 216, 34}}, nil)
			early, err := names.resolver().LookupHost(t.Context(), "rebind.example")
			if err != nil || len(early) != 1 || early[0] != "93.184.216.34" {
				t.Fatal(early, err)
			}
			names.answer(test.ipv4, test.ipv6)
			f := newTestFetcher(t, Config{Resolver: names.resolver()})
			_, err = f.Fetch(t.Context(), Request{URL: url})
			wantClass(t, err, Forbidden)
			if f.pool.open() != 0 {
				t.Errorf("%d connections open", f.pool.open())
			}
		})
	}
	if victim.connections() != 0 {
		t.Errorf("%d connections made", victim.connections())
	}
}

// TestResolverIsUsed holds that the guard is what kept the test above from
// connecting.
func TestResolverIsUsed(t *testing.T) {
	o := listen(t, always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"))
	names := serveDNS(t)
	names.answer([][4]byte{{127, 0, 0, 1}}, nil)
	f := newTestFetcher(t, Config{Resolver: names.resolver(), AllowPrivate: true})
	if resp := mustFetch(t, f, strings.Replace(o.url, "127.0.0.1", "rebind.example", 1)); string(resp.Body) != "body" {
		t.Errorf("body %q", resp.Body)
	}
}

// nameServer answers every question for addresses with the same ones.
type nameServer struct {
	conn net.PacketConn

	mu   sync.Mutex
	ipv4 [][4]byte
	ipv6 [][16]byte
}

func serveDNS(t *testing.T) *nameServer {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn}
	var served sync.WaitGroup
	served.Go(s.serve)
	t.Cleanup(func() {
		_ = conn.Close()
		served.Wait()
	})
	return s
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *nameServer) answer(ipv4 [][4]byte, ipv6 [][16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ipv4, s.ipv6 = ipv4, ipv6
}

func (s *nameServer) serve() {
	packet := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(packet[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		reply := s.reply(question)
		packed, err := reply.Pack()
		if err == nil {
			_, _ = s.conn.WriteTo(packed, from)
		}
	}
}

func (s *nameServer) reply(question dnsmessage.Message) dnsmessage.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := question.Questions[0]
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true},
		Questions: question.Questions,
	}
	add := func(body dnsmessage.ResourceBody) {
		header := dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class}
		reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: body})
	}
	switch asked.Type {
	case dnsmessage.TypeA:
		for _, a := range s.ipv4 {
			add(&dnsmessage.AResource{A: a})
		}
	case dnsmessage.TypeAAAA:
		for _, aaaa := range s.ipv6 {
			add(&dnsmessage.AAAAResource{AAAA: aaaa})
		}
	}
	return reply
}
