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
	"strings"
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
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkNames refuses names of which a file would be another name's, or the CA's.
func checkNames(names []string) error {
	for _, name := range names {
		lower := strings.ToLower(name) // as file systems compare that ignore case
		if !nodeName.MatchString(name) || lower == "ca" || strings.HasSuffix(lower, "-key") {
			return fmt.Errorf("node name %q: want 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first, and neither %q nor %q at the end", name, "ca", "-key")
		}
	}
	return nil
}

// Issued is a node's certificate in a directory.
type Issued struct {
	Name  string
	Made  bool      // now; else it was there
	Until time.Time // when it expires
}

// Certificates is what [MakeCertificates] found or made.
type Certificates struct {
	CA    bool     // the CA was made now; else it was there
	Nodes []Issued // in the order of the names
}

// MakeCertificates makes a private CA in a directory, unless it holds one, and a
// certificate and key for each node name that has none yet. It never replaces a file. A
// file of a name that is not the CA's certificate of that name is an error.
func MakeCertificates(dir string, names []string, now time.Time) (c Certificates, err error) {
	if err := checkNames(names); err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, err
	}
	authority, err := openAuthority(dir, now)
	if err != nil {
		return c, err
	}
	c.CA = authority.made
	for _, name := range names {
		issued, err := authority.ensure(dir, name, now)
		if err != nil {
			return c, fmt.Errorf("certificate of %s: %w", name, err)
		}
		c.Nodes = append(c.Nodes, issued)
	}
	return c, nil
}

// NodeFiles returns the names of the files of a directory of certificates that a node
// needs, beside which its gossip key lies.
func NodeFiles(name string) []string { return []string{caFile, certFile(name), keyFile(name)} }

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	made        bool // now
}

func openAuthority(dir string, now time.Time) (*authority, error) {
	certificate, err := readPEM(filepath.Join(dir, caFile), "CERTIFICATE", x509.ParseCertificate)
	if errors.Is(err, fs.ErrNotExist) {
		return makeAuthority(dir, now)
	}
	if err != nil {
		return nil, err
	}
	key, err := readPEM(filepath.Join(dir, CAKeyFile), "EC PRIVATE KEY", x509.ParseECPrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the CA's key is needed to add names: %w", err)
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, fmt.Errorf("%s is not the key of %s", CAKeyFile, caFile)
	}
	return &authority{certificate, key, false}, nil
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
	key, err := ensureKey(filepath.Join(dir, CAKeyFile))
	if err != nil {
		return nil, err
	}
	a := &authority{template, key, true}
	if a.certificate, err = a.write(dir, "ca", template, &key.PublicKey); err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	return a, nil
}

// ensure makes a node's certificate unless there is one.
func (a *authority) ensure(dir, name string, now time.Time) (Issued, error) {
	leaf, err := readPEM(filepath.Join(dir, certFile(name)), "CERTIFICATE", x509.ParseCertificate)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		leaf, err = a.issue(dir, name, now)
	}
	switch {
	case err != nil:
		return Issued{}, err
	case leaf.Subject.CommonName != name:
		return Issued{}, fmt.Errorf("%s is of %q", certFile(name), leaf.Subject.CommonName)
	case leaf.CheckSignatureFrom(a.certificate) != nil:
		return Issued{}, fmt.Errorf("%s is not of the CA in %s", certFile(name), caFile)
	}
	return Issued{Name: name, Made: made, Until: leaf.NotAfter}, nil
}

// issue makes a node's certificate, good for both ends of a connection.
func (a *authority) issue(dir, name string, now time.Time) (*x509.Certificate, error) {
	key, err := ensureKey(filepath.Join(dir, keyFile(name)))
	if err != nil {
		return nil, err
	}
	until := now.AddDate(nodeYears, 0, 0)
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}
	return a.write(dir, name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{certHost},
		NotBefore:   now.Add(-allowance),
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey)
}

// ensureKey makes a key unless there is one, which an earlier call left that was cut
// short before the certificate.
func ensureKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := readPEM(path, "EC PRIVATE KEY", x509.ParseECPrivateKey)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", encoded, keyPerm)
}

// write signs a certificate and writes it; its key was written before, so a
// certificate that is there has one.
func (a *authority) write(dir, name string, template *x509.Certificate, public *ecdsa.PublicKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
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

func writePEM(path, kind string, content []byte, perm fs.FileMode) error {
	return writeNew(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), perm)
}

// writeNew writes a new file, whole or not at all, and never over another one.
func writeNew(path string, content []byte, perm fs.FileMode) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, content, perm); err != nil {
		return err
	}
	if err := os.Link(partial, path); err != nil {
		_ = os.Remove(partial)
		return err
	}
	return os.Remove(partial)
}
