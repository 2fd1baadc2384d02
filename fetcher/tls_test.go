package fetcher

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// TestCertificates is row 17: what a certificate must be.
func TestCertificates(t *testing.T) {
	ca := newAuthority(t)
	stranger := newAuthority(t)
	now := time.Now()
	local := x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	expired, future, wrong, oversized := local, local, local, local
	expired.NotAfter = now.Add(-time.Minute)
	future.NotBefore = now.Add(time.Minute)
	wrong.IPAddresses, wrong.DNSNames = nil, []string{"other.example"}
	oversized.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}, Value: make([]byte, 300<<10)}}
	tests := []struct {
		name    string
		config  *tls.Config
		refused bool
	}{
		{"good", ca.config(t, &local), false},
		{"17 expired", ca.config(t, &expired), true},
		{"17 of the future", ca.config(t, &future), true},
		{"17 wrong name", ca.config(t, &wrong), true},
		{"17 oversized", ca.config(t, &oversized), true},
		{"17 unknown authority", stranger.config(t, &local), true},
		{"TLS 1.1", with(ca.config(t, &local), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }), true},
		{"TLS 1.2", with(ca.config(t, &local), func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), false},
		{"another protocol alone", with(ca.config(t, &local), func(c *tls.Config) { c.NextProtos = []string{"h9"} }), true},
		{"a client certificate wanted", with(ca.config(t, &local), func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := listen(t, secured(test.config, always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"), nil))
			f := newTestFetcher(t, Config{AllowPrivate: true, RootCAs: ca.pool})
			resp, err := f.Fetch(t.Context(), Request{URL: strings.Replace(o.url, "http:", "https:", 1)})
			if test.refused {
				wantClass(t, err, TLS)
				o.awaitClosed(0)
				return
			}
			if err != nil || string(resp.Body) != "body" {
				t.Fatal(err)
			}
			resp.Release()
		})
	}
}

func TestNotTLS(t *testing.T) {
	o := listen(t, func(s *side) {
		_, _ = s.Write([]byte("HTTP/1.1 400 This is the plain HTTP port\r\n\r\n"))
	})
	f := newTestFetcher(t, Config{AllowPrivate: true})
	_, err := f.Fetch(t.Context(), Request{URL: strings.Replace(o.url, "http:", "https:", 1)})
	wantClass(t, err, TLS)
	o.awaitClosed(0)
}

// TestLongHandshake is row 17: a server may send a long chain, but not one of any
// length. The library's own limit is 256 KiB for the chain alone.
func TestLongHandshake(t *testing.T) {
	ca := newAuthority(t)
	for _, test := range []struct {
		padding int
		refused bool
	}{{100 << 10, false}, {130 << 10, true}, {250 << 10, true}} {
		config := ca.config(t, localCert(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}, Value: make([]byte, test.padding)}}
		}))
		o := listen(t, secured(config, always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"), nil))
		f := newTestFetcher(t, Config{AllowPrivate: true, RootCAs: ca.pool})
		resp, err := f.Fetch(t.Context(), Request{URL: secureURL(o)})
		if test.refused {
			wantClass(t, err, TLS)
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", test.padding, err)
		}
		resp.Release()
	}
}

// localCert is a template of a certificate for 127.0.0.1, changed.
func localCert(change func(*x509.Certificate)) *x509.Certificate {
	now := time.Now()
	local := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	change(local)
	return local
}

func secureURL(o *origin) string { return strings.Replace(o.url, "http:", "https:", 1) }

const closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody"

// TestSessions holds that the second connection to a host resumes the first one's
// session, also when other servers share its name, and that this is counted.
func TestSessions(t *testing.T) {
	ca := newAuthority(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		f := newTestFetcher(t, Config{AllowPrivate: true, RootCAs: ca.pool})
		resumed := make(chan bool, 1)
		config := with(ca.config(t, localCert(func(*x509.Certificate) {})), func(c *tls.Config) { c.MaxVersion = version })
		var origins [3]*origin
		for i := range origins {
			own := config.Clone()
			own.SetSessionTicketKeys([][32]byte{{byte(i + 1)}})
			origins[i] = listen(t, secured(own, once(closing), resumed))
		}
		for round := range 3 {
			for _, o := range origins {
				mustFetch(t, f, secureURL(o))
				if got := <-resumed; got != (round > 0) {
					t.Errorf("%s, round %d: resumed %v", tls.VersionName(version), round, got)
				}
			}
		}
		if all, again := value(t, f.metrics.handshakes), value(t, f.metrics.resumptions); all != 9 || again != 6 {
			t.Errorf("%v handshakes, %v resumptions counted", all, again)
		}
		if kept := f.dialer.sessions.count(); kept != 3 {
			t.Errorf("%d sessions kept", kept)
		}
	}
}

// TestSessionsAreCapped holds that as many sessions are kept as there may be, those
// used last, and that one which cannot be read costs a full handshake and nothing
// more.
func TestSessionsAreCapped(t *testing.T) {
	ca := newAuthority(t)
	f := newTestFetcher(t, Config{AllowPrivate: true, RootCAs: ca.pool, MaxSessions: 2})
	resumed := make(chan bool, 1)
	config := ca.config(t, localCert(func(*x509.Certificate) {}))
	a, b, c := listen(t, secured(config, once(closing), resumed)), listen(t, secured(config, once(closing), resumed)), listen(t, secured(config, once(closing), resumed))
	for i, step := range []struct {
		at   *origin
		want bool
	}{{a, false}, {b, false}, {a, true}, {c, false}, {a, true}, {b, false}} {
		mustFetch(t, f, secureURL(step.at))
		if got := <-resumed; got != step.want || f.dialer.sessions.count() > 2 {
			t.Errorf("step %d: resumed %v, %d kept", i, got, f.dialer.sessions.count())
		}
	}
	hostPort := strings.TrimSuffix(strings.TrimPrefix(a.url, "http://"), "/feed")
	f.dialer.sessions.mu.kept.put(hostPort, session{ticket: []byte("ticket"), state: []byte("state")})
	mustFetch(t, f, secureURL(a))
	if <-resumed {
		t.Error("resumed a session whose ticket is none")
	}
}

func TestKeptSecureConnection(t *testing.T) {
	ca := newAuthority(t)
	config := ca.config(t, localCert(func(*x509.Certificate) {}))
	o := listen(t, secured(config, always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"), nil))
	f := newTestFetcher(t, Config{AllowPrivate: true, RootCAs: ca.pool})
	for range 3 {
		mustFetch(t, f, secureURL(o))
	}
	if o.connections() != 1 {
		t.Errorf("%d connections", o.connections())
	}
}

// secured runs handle inside TLS, and reports whether the session was resumed to
// a channel that may be nil.
func secured(config *tls.Config, handle func(*side), resumed chan<- bool) func(*side) {
	return func(s *side) {
		secure := tls.Server(s.Conn, config)
		if secure.Handshake() != nil {
			_ = s.Close()
			return
		}
		if resumed != nil {
			resumed <- secure.ConnectionState().DidResume
		}
		handle(&side{Conn: secure, in: bufio.NewReader(secure), index: s.index})
	}
}

func with(config *tls.Config, change func(*tls.Config)) *tls.Config {
	change(config)
	return config
}

// authority issues certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

// config returns a server's, with a certificate made from template.
func (a *authority) config(t *testing.T, template *x509.Certificate) *tls.Config {
	key := newKey(t)
	leaf := *template
	leaf.SerialNumber, leaf.Subject = big.NewInt(2), pkix.Name{CommonName: "origin"}
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, &leaf, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
