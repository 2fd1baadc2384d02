package corona

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// portRig is two nodes of a cluster, and what a third party needs to speak as the second
// one at the port of the first.
type portRig struct {
	address string
	at      string // node ID
	as      peer.Identity
	pair    tls.Certificate
	other   *peer.Node // a connection beside those that are broken
}

// portLanes are the names that lanes have in TLS.
var portLanes = []string{string(peer.Control), string(peer.Log), "corona/bulk/1"}

func newPortRig(f *testing.F) *portRig {
	f.Helper()
	nodes := openSecured(f, Config{Ranges: 2, DiskReserve: 4 << 20}, "n1", "n2")
	first, second := nodes[0].company, nodes[1].company
	r := &portRig{
		address: first.self.Address, at: first.self.ID,
		as: peer.Identity{Cluster: nodes[0].store.Cluster(), Name: "n2", ID: second.self.ID},
	}
	certs := nodes[1].config.Cluster.Certs
	var err error
	if r.pair, err = tls.LoadX509KeyPair(filepath.Join(certs, "n2.pem"), filepath.Join(certs, "n2-key.pem")); err != nil {
		f.Fatal(err)
	}
	if r.other, err = peer.New(peer.Config{Self: r.as, Credentials: second.credentials}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.other.Close)
	r.other.SetPeers([]peer.Peer{{ID: r.at, Name: "n1", Address: r.address}})
	return r
}

// openSecured opens the nodes of a cluster in this process, which prove to each other who
// they are and encrypt what they say. Each has what base says, and is closed when the test
// ends.
func openSecured(tb testing.TB, base Config, names ...string) []*Node {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("only Linux has the whole of 127.0.0.0/8")
	}
	certs := filepath.Join(tb.TempDir(), "certs")
	_, err := peer.MakeCertificates(certs, names, time.Now())
	if err == nil {
		_, err = peer.MakeGossipKey(certs)
	}
	if err != nil {
		tb.Fatal(err)
	}
	host := fmt.Sprintf("127.%d.%d.", 192+rand.IntN(60), rand.IntN(256)) // fuzzing is several processes
	var join []string
	for i := range names {
		join = append(join, fmt.Sprintf("%s%d:8412", host, i+1))
	}
	nodes := make([]*Node, len(names))
	var opening sync.WaitGroup
	for i, name := range names {
		opening.Go(func() {
			config := base
			config.Data, config.Name = filepath.Join(tb.TempDir(), name), name
			config.Cluster = ClusterConfig{
				Address: fmt.Sprintf("%s%d:8411", host, i+1), Gossip: join[i], Join: join, BootstrapExpect: len(names), Certs: certs,
			}
			config.Fatal = func(err error) { panic(err) }
			node, err := Open(tb.Context(), config)
			if err != nil {
				tb.Error(err)
				return
			}
			nodes[i] = node
			tb.Cleanup(func() {
				if err := node.Close(); err != nil {
					tb.Error(err)
				}
			})
		})
	}
	if opening.Wait(); tb.Failed() {
		tb.FailNow()
	}
	return nodes
}

// portFrame is the wire form of a frame of package peer: see its frame.go.
func portFrame(kind, role uint8, group uint64, payload []byte) []byte {
	body := append([]byte{kind, role}, binary.BigEndian.AppendUint64(nil, group)...)
	body = append(body, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 200) // call 1, which has 200 ms
	body = append(body, payload...)
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return append(binary.BigEndian.AppendUint32(head, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))), body...)
}

// enter connects in a lane and says hello. The node has answered when it returns.
func (r *portRig) enter(t *testing.T, lane string) *tls.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patienceAtPort)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{lane}, Certificates: []tls.Certificate{r.pair},
	}}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	hello, err := json.Marshal(map[string]any{"protocol": 1, "lane": lane, "from": r.as, "to": r.at})
	if err == nil {
		_, err = conn.Write(portFrame(1, 0, 0, hello))
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Now().Add(patienceAtPort))
	}
	head := make([]byte, 8)
	if err == nil {
		_, err = io.ReadFull(conn, head)
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head)))
	}
	if err != nil {
		t.Fatalf("hello in lane %s: %v", lane, err)
	}
	return conn.(*tls.Conn)
}

// patienceAtPort bounds the wait for an answer, or the end of a connection.
const patienceAtPort = 30 * time.Second

// What is sent at the port, behind TLS and hello.
const (
	sendBytes  = iota // as they are
	sendFrame         // a whole frame; in the bulk lane, the opening of a stream
	sendSum           // a frame with a bad checksum
	sendLength        // a frame that claims 4 GiB
	sendVariants
)

// portBytes returns what is sent, and whether the node has to close the connection by
// itself.
func portBytes(lane string, variant, kind, role uint8, group uint64, content []byte) (sent []byte, closes bool) {
	frame := portFrame(kind, role, group, content)
	switch variant {
	case sendBytes:
		return content, false
	case sendSum:
		frame[4] ^= 1
	case sendLength:
		copy(frame, "\xFF\xFF\xFF\xFF")
	}
	if lane != portLanes[2] {
		return frame, variant != sendFrame
	}
	open := []byte{0, 0, 0, 1, 0, 0, 0, 1} // yamux: version 0, data, SYN, stream 1
	return append(binary.BigEndian.AppendUint32(open, uint32(len(frame))), frame...), false
}

// allocated returns the bytes that this process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// mostAllocated is what one connection may cost, TLS on both ends and all that the nodes
// do meanwhile included.
const mostAllocated = 64 << 20

// FuzzClusterPort: whatever a member sends in any lane ends its own connection at the
// most. The node lives, allocates little for it, and goes on to answer in another one.
func FuzzClusterPort(f *testing.F) {
	r := newPortRig(f)
	for lane := range uint8(len(portLanes)) {
		for variant := range uint8(sendVariants) {
			f.Add(lane, variant, uint8(peer.FirstKind), uint8(0), uint64(1), []byte("GET / HTTP/1.1\r\n\r\n"))
		}
		f.Add(lane, uint8(sendBytes), uint8(0), uint8(0), uint64(0), []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
		f.Add(lane, uint8(sendFrame), uint8(255), uint8(0), uint64(1), []byte("unknown message"))
		f.Add(lane, uint8(sendFrame), uint8(peer.FirstKind+1), uint8(3), uint64(1)<<63, []byte("unknown group and role"))
		for kind := peer.FirstKind; kind < peer.FirstKind+12; kind++ {
			f.Add(lane, uint8(sendFrame), uint8(kind), uint8(0), uint64(3), []byte{3, 0, 0, 1, 1, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
		}
	}
	f.Fuzz(func(t *testing.T, lane, variant, kind, role uint8, group uint64, content []byte) {
		name := portLanes[int(lane)%len(portLanes)]
		sent, closes := portBytes(name, variant%sendVariants, kind, role, group, content)
		before := allocated()
		conn := r.enter(t, name)
		defer conn.Close()
		_, err := conn.Write(sent)
		if err == nil && !closes {
			err = conn.CloseWrite()
		}
		if err == nil {
			err = conn.SetReadDeadline(time.Now().Add(patienceAtPort))
		}
		if err == nil { // else it is closed already
			_, err = io.Copy(io.Discard, conn)
		}
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("lane %s: the connection stays open", name)
		}
		if got := allocated() - before; got > mostAllocated {
			t.Errorf("lane %s: %d bytes were allocated for %d", name, got, len(sent))
		}
		ctx, cancel := context.WithTimeout(t.Context(), patienceAtPort)
		defer cancel()
		var answer *peer.RemoteError
		if _, err := r.other.Call(ctx, r.at, peer.Log, peer.FirstKind, 0, []byte("no heartbeats")); !errors.As(err, &answer) {
			t.Errorf("the connection beside it has no answer: %v", err)
		}
	})
}
