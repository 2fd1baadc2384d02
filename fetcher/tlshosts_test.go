package fetcher

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkTLSHosts answers: what does a poll of one of many hosts cost over TLS,
// when each has one feed and there are more hosts than connections? 10,000 names,
// each with a key and a certificate of its own from one authority, are polled in
// turn, three times, with 2,048 connections, so that every poll after the first
// round needs a handshake; then 2,000 of them several times on connections that are
// kept. The origin is a process of its own: processor and memory are the fetcher's.
//
//	go test -run '^$' -bench TLSHosts -benchtime 1x ./fetcher
//
// The figures that count: resumed-%, of the handshakes from the second round on;
// µs/full, µs/resumed and µs/kept of processor per poll, to be read as ratios;
// conns, open at most; B/host, what is remembered of a host, and B/conn, of a
// connection that is kept.
func BenchmarkTLSHosts(b *testing.B) {
	const hosts, kept, conns, rounds = 10_000, 2_000, 2_048, 2
	for b.Loop() {
		o := startTLSOrigin(b)
		first := o.fetcher(b, conns)
		o.poll(b, first, hosts) // the origin makes its certificates
		first.Close()
		before := heapInUse()

		f := o.fetcher(b, conns)
		full := o.poll(b, f, hosts)
		handshakes := value(b, f.metrics.handshakes)
		var resumed, reused time.Duration
		for range rounds {
			resumed += o.poll(b, f, hosts)
		}
		share := value(b, f.metrics.resumptions) / (value(b, f.metrics.handshakes) - handshakes)
		open, connected := f.pool.open(), heapInUse()
		o.poll(b, f, kept)
		for range rounds * hosts / kept {
			reused += o.poll(b, f, kept)
		}
		f.pool.drain(func(*conn) bool { return true })
		remembered := heapInUse()

		b.ReportMetric(100*share, "resumed-%")
		b.ReportMetric(float64(full.Microseconds())/hosts, "µs/full")
		b.ReportMetric(float64(resumed.Microseconds())/hosts/rounds, "µs/resumed")
		b.ReportMetric(float64(reused.Microseconds())/hosts/rounds, "µs/kept")
		b.ReportMetric(float64(open), "conns")
		b.ReportMetric(float64(remembered-before)/hosts, "B/host")
		b.ReportMetric(float64(connected-remembered)/float64(open), "B/conn")
		o.stop()
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// tlsOrigin is a process that serves any number of hosts.
type tlsOrigin struct {
	roots *x509.CertPool
	ports []string // by address, 127.0.1.1 and on
	stop  func()
}

// fetcher returns one that finds the origin's hosts.
func (o *tlsOrigin) fetcher(b *testing.B, conns int) *Fetcher {
	f := newTestFetcher(b, Config{AllowPrivate: true, RootCAs: o.roots, MaxConns: conns})
	f.dialer.names.ask = o.ask
	return f
}

// ask finds the address of hN.example.
func (o *tlsOrigin) ask(_ context.Context, _, host string) ([]netip.Addr, error) {
	var n int
	if _, err := fmt.Sscanf(host, "h%d.example", &n); err != nil {
		return nil, err
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + n%len(o.ports))})}, nil
}

// poll asks each of a number of hosts once and returns the processor time of this
// process.
func (o *tlsOrigin) poll(b *testing.B, f *Fetcher, hosts int) time.Duration {
	const workers = 32
	before := processorTime(b)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for n := w; n < hosts; n += workers {
				url := fmt.Sprintf("https://h%d.example:%s/feed", n, o.ports[n%len(o.ports)])
				resp, err := f.Fetch(b.Context(), Request{URL: url, ETag: `"v1"`})
				if err != nil {
					b.Error(err)
					return
				}
				resp.Release()
			}
		})
	}
	all.Wait()
	return processorTime(b) - before
}

// originVariable makes this test's binary the origin instead.
const originVariable = "CORONA_TEST_TLS_ORIGIN"

// startTLSOrigin starts the origin, which ends when its standard input does.
func startTLSOrigin(b *testing.B) *tlsOrigin {
	command := exec.CommandContext(b.Context(), os.Args[0])
	command.Env = append(os.Environ(), originVariable+"=1")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	o := readTLSOrigin(b, out)
	o.stop = func() {
		_ = in.Close()
		_ = command.Wait()
	}
	return o
}

// readTLSOrigin reads the one line that the origin prints: its authority's
// certificate, and its ports.
func readTLSOrigin(b *testing.B, out io.Reader) *tlsOrigin {
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(line)
	der, err := base64.StdEncoding.DecodeString(fields[0])
	if err != nil {
		b.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	o := &tlsOrigin{roots: x509.NewCertPool(), ports: fields[1:]}
	o.roots.AddCert(root)
	return o
}
