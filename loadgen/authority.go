package loadgen

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
	"sync"
	"time"
)

// authority is a certificate authority of one run, whose key is in memory alone. It gives
// each host a certificate for its address when a first client asks: one certificate with
// ten thousand addresses would be too long for a handshake.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	hosts       sync.Map // of *tls.Certificate, by IP address
}

// certificateLife is longer than any run.
const certificateLife = 30 * 24 * time.Hour

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateOf("Corona load generator", now)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key}, err
}

func certificateOf(name string, now time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
	}
}

// config returns what a server of all hosts needs.
func (a *authority) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			address, ok := hello.Conn.LocalAddr().(*net.TCPAddr)
			if !ok {
				return nil, fmt.Errorf("no address to certify: %s", hello.Conn.LocalAddr())
			}
			return a.of(address.IP)
		},
	}
}

// of returns the certificate of a host.
func (a *authority) of(ip net.IP) (*tls.Certificate, error) {
	if made, ok := a.hosts.Load(ip.String()); ok {
		return made.(*tls.Certificate), nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateOf(ip.String(), a.certificate.NotBefore.Add(time.Hour))
	template.IPAddresses, template.KeyUsage = []net.IP{ip}, x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	made, _ := a.hosts.LoadOrStore(ip.String(), &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
	return made.(*tls.Certificate), nil
}

// CA returns the certificate, as PEM, of the authority that hosts have theirs from; nil
// where they serve without TLS. It has to be given to nodes.
func (o *Origin) CA() []byte {
	if o.authority == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.authority.certificate.Raw})
}
