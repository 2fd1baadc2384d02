package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const (
	caYears   = 10
	nodeYears = 2
	// allowance is for nodes whose clocks are behind that of the machine that makes
	// certificates.
	allowance = time.Hour
	keyPerm   = 0o600
	certPerm  = 0o644
)

// nodeName is what may be a node's name: it becomes a file's.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// MakeCertificates makes a private CA in a directory, unless it holds one, and a
// certificate and key for each node name that has none yet. It returns the names that
// it made certificates for; it never replaces a file.
func MakeCertificates(dir string, names []string, now time.Time) (made []string, err error) {
	for _, name := range names {
		if !nodeName.MatchString(name) || certFile(name) == caFile || keyFile(name) == caKeyFile {
			return nil, fmt.Errorf("node name %q: want letters, digits, dots, dashes and underscores, 63 at most, and not %q", name, "ca")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	authority, err := openAuthority(dir, now)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(dir, certFile(name)))
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return made, err
		}
		if err := authority.issue(dir, name, now); err != nil {
			return made, fmt.Errorf("certificate of %s: %w", name, err)
		}
		made = append(made, name)
	}
	return made, nil
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func openAuthority(dir string, now time.Time) (*authority, error) {
	certificate, err := readPEM(filepath.Join(dir, caFile), "CERTIFICATE", x509.ParseCertificate)
	if errors.Is(err, fs.ErrNotExist) {
		return makeAuthority(dir, now)
	}
	if err != nil {
		return nil, err
	}
	key, err := readPEM(filepath.Join(dir, caKeyFile), "EC PRIVATE KEY", x509.ParseECPrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the CA's key is needed to add names: %w", err)
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, fmt.Errorf("%s is not the key of %s", caKeyFile, caFile)
	}
	return &authority{certificate, key}, nil
}

func makeAuthority(dir string, now time.Time) (*authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Corona cluster"},
		NotBefore:             now.Add(-allowance),
		NotAfter:              now.AddDate(caYears, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{template, key}
	if a.certificate, err = a.write(dir, "ca", template, &key.PublicKey, key); err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	return a, nil
}

// issue makes a node's certificate, good for both ends of a connection.
func (a *authority) issue(dir, name string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	until := now.AddDate(nodeYears, 0, 0)
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}
	_, err = a.write(dir, name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{certHost},
		NotBefore:   now.Add(-allowance),
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey, key)
	return err
}

// write signs a certificate and writes it, after its key: so a certificate that is
// there has one.
func (a *authority) write(dir, name string, template *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(dir, keyFile(name)), "EC PRIVATE KEY", encoded, keyPerm); err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(dir, certFile(name)), "CERTIFICATE", der, certPerm); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func readPEM[T any](path, kind string, parse func([]byte) (T, error)) (value T, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	block, _ := pem.Decode(content)
	if block == nil || block.Type != kind {
		return value, fmt.Errorf("%s holds no %s", path, kind)
	}
	if value, err = parse(block.Bytes); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return value, err
}

// writePEM writes a new file, whole or not at all, and never over another one.
func writePEM(path, kind string, content []byte, perm fs.FileMode) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), perm); err != nil {
		return err
	}
	if err := os.Link(partial, path); err != nil {
		_ = os.Remove(partial)
		return err
	}
	return os.Remove(partial)
}
