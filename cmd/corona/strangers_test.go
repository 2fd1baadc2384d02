package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// TestStrangersAtThePort: what has no certificate of the cluster's, or one of no member, is
// refused by a node that says whose it was, and counts it.
func TestStrangersAtThePort(t *testing.T) {
	t.Parallel()
	now := time.Now()
	past := now.AddDate(-3, 0, 0) // a CA is of ten years, a node's certificate of two
	certs := makeCertificates(t, past, "n5")
	if _, err := makeCerts(certs, []string{"n1", "n2", "n3"}, now); err != nil {
		t.Fatal(err)
	}
	foreign := makeCertificates(t, now, "n4")
	load := func(dir, name string) *peer.Credentials {
		t.Helper()
		credentials, err := peer.LoadCredentials(dir, name, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return credentials
	}
	at := newSeat(t, "n1", certs)
	node := serveSeveral(t, at, 1)
	node.ready(t)
	status, err := node.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		self   peer.Identity
		creds  *peer.Credentials
		reason peer.Reason
		words  string
	}{
		{"no TLS", peer.Identity{Name: "n2", ID: "n2.1"}, nil, peer.ReasonCertificate, "TLS: "},
		{"of another CA", peer.Identity{Name: "n4", ID: "n4.1"}, load(foreign, "n4"), peer.ReasonCertificate, "the other end refuses this node's certificate"},
		{"certificate of another than it says", peer.Identity{Name: "n2", ID: "n2.1"}, load(certs, "n3"), peer.ReasonCertificate, "the certificate is of node n3, the hello of n2"},
		{"of no member", peer.Identity{Name: "n2", ID: "n2.1"}, load(certs, "n2"), peer.ReasonMember, "node n2 (n2.1) is no member of this cluster"},
		{"of another cluster", peer.Identity{Name: "n2", ID: "n2.1", Cluster: "cafe"}, load(certs, "n2"), peer.ReasonCluster, "node n2 (n2.1) is of cluster cafe, not " + status.Cluster.ID},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := node.metric(t, refusedTotal(test.reason))
			stranger, err := peer.New(peer.Config{Self: test.self, Credentials: test.creds})
			if err != nil {
				t.Fatal(err)
			}
			defer stranger.Close()
			stranger.SetPeers([]peer.Peer{{Address: at.cluster()}}) // which is called each second, or sooner
			node.says(t, "connection of a node refused", "reason="+string(test.reason), test.words)
			if after := node.metric(t, refusedTotal(test.reason)); after <= before {
				t.Errorf("%v refusals before, %v after", before, after)
			}
		})
	}
	for name, test := range map[string]struct {
		certificate tls.Certificate // empty: none
		words       string
	}{
		"no certificate":        {tls.Certificate{}, `said=" ()" reason=certificate error="connection refused (certificate): TLS: tls: client didn't provide a certificate"`},
		"a foreign one":         {pair(t, foreign, "n4"), `said="n4 ()" reason=certificate error="connection refused (certificate): TLS: x509: certificate signed by unknown authority`},
		"an expired one":        {pair(t, certs, "n5"), `said="n5 ()" reason=certificate error="connection refused (certificate): TLS: x509: certificate has expired`},
		"one that is of itself": {pair(t, foreign, "ca"), `said="Corona cluster ()" reason=certificate`},
	} {
		t.Run(name, func(t *testing.T) {
			before := node.metric(t, refusedTotal(peer.ReasonCertificate))
			await(t, "a refusal", func() error { // lines are a second apart, at least
				if err := knock(at.cluster(), test.certificate); err == nil {
					t.Fatal("not refused")
				}
				if !strings.Contains(node.said(t), test.words) {
					return fmt.Errorf("it said\n%s", node.said(t))
				}
				return nil
			})
			if after := node.metric(t, refusedTotal(peer.ReasonCertificate)); after <= before {
				t.Errorf("%v refusals before, %v after", before, after)
			}
		})
	}
	node.ready(t)
	if got := node.metric(t, "corona_peer_accepted_total"); got != 0 {
		t.Errorf("%v strangers were accepted", got)
	}
}

// pair reads a certificate and its key.
func pair(t *testing.T, dir, name string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// knock connects as a stranger that takes any certificate and presents one, or none, and
// returns what its first read says: in TLS 1.3 a client learns only so that it is refused.
func knock(address string, certificate tls.Certificate) error {
	conn, err := tls.Dial("tcp", address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{string(peer.Control)},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}

// TestExpiredAtHome: a node does not start with a certificate that all others refuse.
func TestExpiredAtHome(t *testing.T) {
	at := newSeat(t, "n1", makeCertificates(t, time.Now().AddDate(-3, 0, 0), "n1"))
	got := runCorona(t.Context(), "", "serve", "--name", at.name, "--data", at.data, "--listen", at.host+":8410",
		"--cluster", at.cluster(), "--gossip", at.gossip(), "--bootstrap-expect", "1", "--certs", at.certs)
	if got.Code != cli.ExitUsage || !strings.Contains(got.Errs, "n1.pem: x509: certificate has expired") {
		t.Errorf("exit code %d, said %q", got.Code, got.Errs)
	}
}

// TestStrangersInTheCluster: a node with another gossip key, a fresh one with good
// certificates and one that comes back with the data directory of another cluster are
// refused, each side says why, and the cluster goes on.
func TestStrangersInTheCluster(t *testing.T) {
	t.Parallel()
	certs := makeCertificates(t, time.Now(), "n1", "n2", "n3", "n4")
	first, second := newSeat(t, "n1", certs), newSeat(t, "n2", certs)

	elsewhere := second // the same node and addresses, once of a cluster of one
	elsewhere.data += "-elsewhere"
	alone := serveSeveral(t, elsewhere, 1)
	alone.ready(t)
	alone.stop(t)

	n1, n2 := serveSeveral(t, first, 2, second), serveSeveral(t, second, 2, first)
	n1.ready(t)
	n2.ready(t)

	gossips := "corona_gossip_refused_total"
	before := n1.metric(t, gossips)
	other := newSeat(t, "n3", makeCertificates(t, time.Now(), "n3"))
	for _, file := range peer.NodeFiles("n3") { // its certificates are good
		content, err := os.ReadFile(filepath.Join(certs, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(other.certs, file), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	deaf := serveSeveral(t, other, 2, first)
	n1.says(t, "level=WARN msg=gossip", "no installed keys could decrypt the message from=127.")
	deaf.says(t, "waiting for other founders of the cluster", "seen=[n3]")
	if after := n1.metric(t, gossips); after <= before {
		t.Errorf("another gossip key: %v refusals before, %v after", before, after)
	}

	members := n1.metric(t, refusedTotal(peer.ReasonMember))
	fresh := serveSeveral(t, newSeat(t, "n4", certs), 2, first)
	n1.says(t, "connection of a node refused", `said="n4 (`, "reason=member", "is no member of this cluster")
	fresh.says(t, "node cannot be reached", "peer=n1", "is no member of this cluster")
	if after := n1.metric(t, refusedTotal(peer.ReasonMember)); after <= members {
		t.Errorf("a fresh node: %v refusals before, %v after", members, after)
	}
	deaf.stop(t)
	fresh.stop(t)

	clusterID := clusterOf(t, n1)
	n2.stop(t)
	n2 = serveSeveral(t, elsewhere, 1, first)
	n2.ready(t)
	said := fmt.Sprintf("is of cluster %s, not %s", clusterID, clusterOf(t, n2))
	n2.says(t, "connection of a node refused", `said="n1 (`, "reason=cluster", said)
	n1.says(t, "node cannot be reached", "peer=n2", "node n2 refuses", said)
	if got := n2.metric(t, refusedTotal(peer.ReasonCluster)); got == 0 {
		t.Error("another cluster's node was not counted")
	}
	if got := n2.metric(t, "corona_peer_accepted_total"); got != 0 {
		t.Errorf("%v connections of another cluster were accepted", got)
	}
	n2.stop(t)
	n2 = serveSeveral(t, second, 2, first)
	n2.ready(t)
	n1.ready(t)
}

func clusterOf(t *testing.T, n *severalNode) string {
	t.Helper()
	status, err := n.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.Cluster.ID
}
