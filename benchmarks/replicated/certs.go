package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// certificates are of one private CA, in a directory: a node's as corona certs makes
// them, and one of addresses, with which all nodes of etcd connect, and by which clients
// know the nodes of both systems.
type certificates struct {
	dir    string
	client *tls.Config // of the clients, which etcd wants to know by a certificate too
}

// Files of the directory, beside those of peer.
const (
	caFile         = "ca.pem"
	addressFile    = "addresses.pem"
	addressKeyFile = "addresses-key.pem"
)

func (c certificates) file(name string) string { return filepath.Join(c.dir, name) }

// makeCertificates makes all that nodes with these names and addresses (host:port) need.
func makeCertificates(dir string, names, addresses []string) (*certificates, error) {
	now := time.Now()
	if _, err := peer.MakeCertificates(dir, names, now); err != nil {
		return nil, err
	}
	if _, err := peer.MakeGossipKey(dir); err != nil {
		return nil, err
	}
	c := &certificates{dir: dir}
	authority, err := os.ReadFile(c.file(caFile))
	if err != nil {
		return nil, err
	}
	if err := c.issue(addresses, now); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(c.file(addressFile), c.file(addressKeyFile))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	c.client = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
	return c, nil
}

// issue makes the certificate of the addresses.
func (c *certificates) issue(addresses []string, now time.Time) error {
	authority, err := readPEM(c.file(caFile), x509.ParseCertificate)
	if err != nil {
		return err
	}
	authorityKey, err := readPEM(c.file(peer.CAKeyFile), x509.ParseECPrivateKey)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "addresses"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)}, // where connections come from
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(host))
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(c.file(addressKeyFile), "EC PRIVATE KEY", encoded); err != nil {
		return err
	}
	return writePEM(c.file(addressFile), "CERTIFICATE", certificate)
}

func readPEM[T any](path string, parse func([]byte) (T, error)) (value T, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return value, fmt.Errorf("%s: no PEM", path)
	}
	return parse(block.Bytes)
}

func writePEM(path, kind string, content []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}
