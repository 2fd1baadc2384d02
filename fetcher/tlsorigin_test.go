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
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// serveTLSHosts is the origin of [BenchmarkTLSHosts], as a process: it answers 304 to
// everything, under every name, until its standard input ends.
func serveTLSHosts() error {
	root, err := newIssuer(nil, "root")
	if err != nil {
		return err
	}
	between, err := newIssuer(root, "intermediate")
	if err != nil {
		return err
	}
	config := &tls.Config{GetCertificate: between.certificateFor}
	line := base64.StdEncoding.EncodeToString(root.cert.Raw)
	for i := range 64 {
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.1.%d:0", 1+i))
		if err != nil {
			return err
		}
		line += fmt.Sprintf(" %d", listener.Addr().(*net.TCPAddr).Port)
		go acceptTLS(listener, config)
	}
	fmt.Println(line)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func acceptTLS(listener net.Listener, config *tls.Config) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		go answerNotModified(tls.Server(c, config))
	}
}

func answerNotModified(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 1024)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) > 2 {
			continue
		}
		if _, err := c.Write([]byte(notModified)); err != nil {
			return
		}
	}
}

// issuer issues certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made sync.Map // of *tls.Certificate, by name
}

// newIssuer returns an issuer that by vouches for; nil: itself.
func newIssuer(by *issuer, name string) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certTemplate(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	if by == nil {
		by = &issuer{template, key, sync.Map{}}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &issuer{cert: cert, key: key}, err
}

// certificateFor returns the certificate of the name that a client wants, as long as
// a usual one.
func (i *issuer) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if made, ok := i.made.Load(hello.ServerName); ok {
		return made.(*tls.Certificate), nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certTemplate(hello.ServerName)
	template.DNSNames = []string{hello.ServerName, "www." + hello.ServerName}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, key.Public(), i.key)
	if err != nil {
		return nil, err
	}
	made, _ := i.made.LoadOrStore(hello.ServerName, &tls.Certificate{Certificate: [][]byte{der, i.cert.Raw}, PrivateKey: key})
	return made.(*tls.Certificate), nil
}

// certTemplate returns what public authorities put into certificates, with as many
// bytes as the timestamps of two logs take.
func certTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		OCSPServer:  []string{"http://r1.o.example.org"}, IssuingCertificateURL: []string{"http://r1.i.example.org/"},
		CRLDistributionPoints: []string{"http://r1.c.example.org/87.crl"},
		ExtraExtensions:       []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: make([]byte, 245)}},
	}
}
