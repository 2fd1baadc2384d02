package peer

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMakeCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	make := func(want []string, names ...string) {
		t.Helper()
		all, err := MakeCertificates(dir, names, time.Now())
		var made, had []string
		for _, issued := range all.Nodes {
			had = append(had, issued.Name)
			if issued.Made {
				made = append(made, issued.Name)
			}
			if left := time.Until(issued.Until); left < 700*24*time.Hour || left > 732*24*time.Hour {
				t.Errorf("the certificate of %s is good for %s", issued.Name, left)
			}
		}
		if err != nil || !slices.Equal(made, want) || !slices.Equal(had, names) {
			t.Errorf("made %q, %v; want %q", made, err, want)
		}
	}
	make([]string{"n1", "n2"}, "n1", "n2")
	before, err := os.ReadFile(filepath.Join(dir, "n1.pem"))
	if err != nil {
		t.Fatal(err)
	}
	make([]string{"n3"}, "n1", "n3")
	if after, err := os.ReadFile(filepath.Join(dir, "n1.pem")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the certificate of n1 has changed: %v", err)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		if _, err := LoadCredentials(dir, name, time.Now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Stat(filepath.Join(dir, name+"-key.pem"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("key of %s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Remove(filepath.Join(dir, CAKeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeCertificates(dir, []string{"n4"}, time.Now()); err == nil {
		t.Error("a name was added without the CA's key")
	}
}

func TestBadNodeNames(t *testing.T) {
	for _, name := range []string{"", "ca", "CA", "ca-key", "n1-key", "N1-KEY", "../n1", "n/1", ".n1", "a b", strings.Repeat("a", 65)} {
		if _, err := MakeCertificates(t.TempDir(), []string{name}, time.Now()); err == nil {
			t.Errorf("a certificate for %q", name)
		}
	}
}

// TestCutShort: a call that ended between a key and its certificate is finished by the
// next one.
func TestCutShort(t *testing.T) {
	dir := t.TempDir()
	makeAll := func() {
		t.Helper()
		if _, err := MakeCertificates(dir, []string{"n1"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	makeAll()
	for _, files := range [][]string{{"n1.pem"}, {caFile, "n1.pem"}} {
		key, err := os.ReadFile(filepath.Join(dir, "n1-key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.Remove(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
		makeAll()
		if _, err := LoadCredentials(dir, "n1", time.Now); err != nil {
			t.Errorf("without %q: %v", files, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, "n1-key.pem")); err != nil || !bytes.Equal(key, after) {
			t.Errorf("without %q: the key has changed: %v", files, err)
		}
	}
}

// TestForeignCertificateFile: a file in a name's place is not taken for its certificate.
func TestForeignCertificateFile(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if _, err := MakeCertificates(d, []string{"n1", "n2"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{
		"another node's": filepath.Join(dir, "n2.pem"),
		"another CA's":   filepath.Join(other, "n1.pem"),
		"a key":          filepath.Join(dir, "n1-key.pem"),
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "n1.pem"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := MakeCertificates(dir, []string{"n1"}, time.Now()); err == nil {
			t.Errorf("%s certificate passed for that of n1", name)
		}
	}
}

func TestGossipKey(t *testing.T) {
	dir := t.TempDir()
	if made, err := MakeGossipKey(dir); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	key, err := LoadGossipKey(dir)
	if err != nil || len(key) != 32 || bytes.Equal(key, make([]byte, 32)) {
		t.Fatalf("key %x, %v", key, err)
	}
	if made, err := MakeGossipKey(dir); err != nil || made {
		t.Errorf("a second call: made %v, %v", made, err)
	}
	if again, err := LoadGossipKey(dir); err != nil || !bytes.Equal(key, again) {
		t.Errorf("after a second call: %x, %v", again, err)
	}
	path := filepath.Join(dir, GossipFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, content := range []string{"", "00", strings.Repeat("0", 66), strings.Repeat("x", 64)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := LoadGossipKey(dir); err == nil {
			t.Errorf("%q was read as the key %x", content, key)
		}
		if _, err := MakeGossipKey(dir); err == nil {
			t.Errorf("%q was taken for a key", content)
		}
	}
}

func TestBadCredentials(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if _, err := MakeCertificates(d, []string{"n1", "n2"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	from := func(dir, file string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, files := range map[string]map[string][]byte{
		"no CA":              {"n1.pem": from(dir, "n1.pem"), "n1-key.pem": from(dir, "n1-key.pem")},
		"another CA":         {caFile: from(other, caFile), "n1.pem": from(dir, "n1.pem"), "n1-key.pem": from(dir, "n1-key.pem")},
		"another's key":      {caFile: from(dir, caFile), "n1.pem": from(dir, "n1.pem"), "n1-key.pem": from(dir, "n2-key.pem")},
		"another node's":     {caFile: from(dir, caFile), "n1.pem": from(dir, "n2.pem"), "n1-key.pem": from(dir, "n2-key.pem")},
		"the CA's own":       {caFile: from(dir, caFile), "n1.pem": from(dir, caFile), "n1-key.pem": from(dir, CAKeyFile)},
		"half a certificate": {caFile: from(dir, caFile), "n1.pem": from(dir, "n1.pem")[:100], "n1-key.pem": from(dir, "n1-key.pem")},
	} {
		broken := t.TempDir()
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(broken, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := LoadCredentials(broken, "n1", time.Now); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// TestRenewal: a certificate that was replaced is used without a restart, one that
// cannot be read is not.
func TestRenewal(t *testing.T) {
	dir := t.TempDir()
	if _, err := MakeCertificates(dir, []string{"n1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCredentials(dir, "n1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		c.mu.checked = time.Time{}
		pair, _ := c.current()
		return pair.Leaf.SerialNumber.String()
	}
	first := serial()
	later := time.Now().Add(time.Minute)
	if err := os.WriteFile(filepath.Join(dir, "n1.pem"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "n1.pem"), later, later); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != first {
		t.Errorf("of an unreadable certificate: %s, want %s", got, first)
	}
	for _, file := range []string{"n1.pem", "n1-key.pem"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := MakeCertificates(dir, []string{"n1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got == first {
		t.Error("the new certificate is not used")
	}
}
