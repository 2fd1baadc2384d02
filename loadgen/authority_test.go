package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Hosts serve with certificates that hold for them, by an authority that has to be known.
func TestTLS(t *testing.T) {
	polls := make(chan Poll, 10)
	o, err := NewOrigin(Config{Listen: "127.77.0.1:0", Hosts: 3, Channels: 3, TLS: true, Observe: func(p Poll) { polls <- p }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	listeners, err := o.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- o.Serve(ctx, listeners...) }()
	known := x509.NewCertPool()
	if !known.AppendCertsFromPEM(o.CA()) {
		t.Fatal("the authority has no certificate")
	}
	get := func(url string, roots *x509.CertPool) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(url)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	before := time.Now()
	for n := range 3 {
		if err := get(o.URL(n), known); err != nil || !strings.HasPrefix(o.URL(n), "https://127.77.0.") {
			t.Errorf("%s: %v", o.URL(n), err)
		}
		if p := <-polls; p.Channel != n || p.Status != 200 || p.Arrived.Before(before) || p.Arrived.After(p.Answered) {
			t.Errorf("poll %+v", p)
		}
	}
	if err := get(o.URL(0), x509.NewCertPool()); err == nil {
		t.Error("an authority that is not known was trusted")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
