package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Credentials are a node's certificate and key, and the CA that all nodes' are of.
// They are read again when their files change, so that a certificate is renewed
// without a restart. A nil *Credentials neither encrypts nor proves anything.
type Credentials struct {
	dir, name string
	now       func() time.Time

	mu struct {
		sync.Mutex
		changed time.Time // of the newest file when they were read
		checked time.Time
		pair    tls.Certificate
		pool    *x509.CertPool
	}
}

// Files of a directory of certificates.
const caFile = "ca.pem"

// CAKeyFile is the name of the file with the CA's key: no node needs it.
const CAKeyFile = "ca-key.pem"

func certFile(name string) string { return name + ".pem" }
func keyFile(name string) string  { return name + "-key.pem" }

// LoadCredentials reads a node's credentials from a directory that
// [MakeCertificates] wrote, or a copy of the node's part of it: ca.pem, NAME.pem and
// NAME-key.pem. It refuses what other nodes would refuse.
func LoadCredentials(dir, name string, now func() time.Time) (*Credentials, error) {
	c := &Credentials{dir: dir, name: name, now: now}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("certificates in %s: %w", dir, err)
	}
	return c, nil
}

// read reads and checks the files. Locked.
func (c *Credentials) read() error {
	authority, err := os.ReadFile(filepath.Join(c.dir, caFile))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return fmt.Errorf("%s holds no certificate", caFile)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, certFile(c.name)), filepath.Join(c.dir, keyFile(c.name)))
	if err != nil {
		return err
	}
	if pair.Leaf == nil {
		return fmt.Errorf("%s holds no certificate", certFile(c.name))
	}
	proved, err := provedName(pair.Leaf, pool, c.now(), x509.ExtKeyUsageServerAuth)
	if err != nil {
		return fmt.Errorf("%s: %w", certFile(c.name), err)
	}
	if proved != c.name {
		return fmt.Errorf("%s is of node %q, not %q", certFile(c.name), proved, c.name)
	}
	c.mu.pair, c.mu.pool, c.mu.changed = pair, pool, c.newest()
	return nil
}

// recheck is how often it is looked whether files have changed.
const recheck = 10 * time.Second

// current returns the credentials, read again if the files have changed. What cannot
// be read now does not replace what could.
func (c *Credentials) current() (tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.mu.checked) > recheck {
		c.mu.checked = now
		if !c.newest().Equal(c.mu.changed) {
			_ = c.read() // half-written files are read at a later look
		}
	}
	return c.mu.pair, c.mu.pool
}

func (c *Credentials) newest() (newest time.Time) {
	for _, file := range []string{caFile, certFile(c.name), keyFile(c.name)} {
		if info, err := os.Stat(filepath.Join(c.dir, file)); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

// certHost is the DNS name in every node's certificate; which node it is says the
// subject's common name. So a node may move to another address.
const certHost = "node.corona.internal"

// provedName returns the node that a certificate proves, if it is of the pool's CA
// and valid now.
func provedName(leaf *x509.Certificate, pool *x509.CertPool, now time.Time, usage x509.ExtKeyUsage) (string, error) {
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: certHost, Roots: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err == nil && leaf.Subject.CommonName == "" {
		err = errors.New("names no node")
	}
	return leaf.Subject.CommonName, err
}

// client secures a connection to the named node, on the dialler's side.
func (c *Credentials) client(ctx context.Context, conn net.Conn, name string, lane Lane) (net.Conn, string, error) {
	if c == nil {
		return conn, "", nil
	}
	pair, pool := c.current()
	secured := tls.Client(conn, &tls.Config{
		MinVersion: tls.VersionTLS13, Time: c.now, ServerName: certHost, RootCAs: pool,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
		NextProtos:           []string{string(lane)},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, "", refuse(ReasonCertificate, "TLS with node %s: %v", name, err)
	}
	state := secured.ConnectionState()
	proved := state.PeerCertificates[0].Subject.CommonName
	switch {
	case state.NegotiatedProtocol != string(lane):
		return nil, "", refuse(ReasonProtocol, "node %s does not speak %q", name, lane)
	case name != "" && proved != name:
		return nil, "", refuse(ReasonNode, "the certificate is of node %s, not %s", proved, name)
	}
	return secured, proved, nil
}

// server secures a connection on the acceptor's side. The lane is empty without
// certificates. With an error, proved is whose certificate it was, as far as known.
func (c *Credentials) server(ctx context.Context, conn net.Conn) (secured net.Conn, proved string, lane Lane, err error) {
	if c == nil {
		return conn, "", "", nil
	}
	pair, pool := c.current()
	var said string
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Time: c.now,
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAnyClientCert, // and verified below, where a refusal can say whose it was
		NextProtos:   []string{string(Control), string(Log), string(bulk)},
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			leaf, err := x509.ParseCertificate(raw[0])
			if err != nil {
				return err
			}
			said = leaf.Subject.CommonName
			_, err = provedName(leaf, pool, c.now(), x509.ExtKeyUsageClientAuth)
			return err
		},
		SessionTicketsDisabled: true, // each connection proves itself
	}
	server := tls.Server(conn, config)
	if err := server.HandshakeContext(ctx); err != nil {
		var alert *net.OpError
		if errors.As(err, &alert) && alert.Op == "remote error" { // an alert, before it has shown its own
			err = fmt.Errorf("the other end refuses this node's certificate: %w", err)
		}
		return nil, said, "", refuse(ReasonCertificate, "TLS: %v", err)
	}
	state := server.ConnectionState()
	if state.NegotiatedProtocol == "" {
		return nil, said, "", refuse(ReasonProtocol, "TLS without a lane")
	}
	return server, said, Lane(state.NegotiatedProtocol), nil
}
