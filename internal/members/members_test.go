package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testTimes = times{
	probe: 100 * time.Millisecond, gossip: 10 * time.Millisecond, pushPull: 200 * time.Millisecond, stream: 500 * time.Millisecond, dead: 200 * time.Millisecond,
	firstPause: 10 * time.Millisecond, lastPause: 100 * time.Millisecond, forget: time.Minute,
}

var testKey = bytes.Repeat([]byte{7}, 32)

// open opens a member on loopback that joins others.
func open(t *testing.T, id string, change func(*Config), join ...*Members) *Members {
	t.Helper()
	config := Config{
		Self: Member{ID: id, Name: "name-" + id, Address: "127.0.0.1:1"},
		Bind: "127.0.0.1:0", Key: testKey, times: testTimes,
	}
	for _, m := range join {
		config.Join = append(config.Join, m.Address())
	}
	if change != nil {
		change(&config)
	}
	m, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// await waits for a condition that others bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

// view is what a node sees, as text.
func view(m *Members) string {
	var seen []string
	for _, member := range m.List() {
		seen = append(seen, member.ID+" "+member.State.String())
	}
	return strings.Join(seen, ", ")
}

func awaitView(t *testing.T, want string, all ...*Members) {
	t.Helper()
	for _, m := range all {
		await(t, fmt.Sprintf("%s sees %q", m.config.Self.ID, want), func() bool { return view(m) == want })
	}
}

// die ends a member's gossip as a kill does: the others are told nothing.
func die(t *testing.T, m *Members) {
	t.Helper()
	m.updating.Lock()
	defer m.updating.Unlock()
	m.closed = true
	m.stop()
	m.running.Wait()
	if err := m.list.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestFindEachOther: nodes that know one of them know all, and learn what changes.
func TestFindEachOther(t *testing.T) {
	var calls atomic.Int64
	a := open(t, "a", func(c *Config) { c.Changed = func() { calls.Add(1) } })
	b := open(t, "b", nil, a)
	c := open(t, "c", func(c *Config) { c.Self.Fresh, c.Self.Expect = true, 3 }, a)
	awaitView(t, "a alive, b alive, c alive", a, b, c)
	want := Member{ID: "c", Name: "name-c", Address: "127.0.0.1:1", Fresh: true, Expect: 3}
	if got := b.List()[2]; got != want {
		t.Errorf("b sees %+v, want %+v", got, want)
	}

	before := calls.Load()
	want.Fresh, want.Cluster, want.Draining = false, strings.Repeat("0f", 16), true
	if err := c.Update(want); err != nil {
		t.Fatal(err)
	}
	if got := c.List()[2]; got != want {
		t.Errorf("c sees itself as %+v, want %+v", got, want)
	}
	for _, m := range []*Members{a, b} {
		await(t, "the update is seen", func() bool { return m.List()[2] == want })
	}
	await(t, "Changed is called", func() bool { return calls.Load() > before })

	if err := c.Update(Member{ID: "d", Name: "d"}); err == nil {
		t.Error("an ID was changed")
	}
	if err := c.Update(Member{ID: "c", Name: strings.Repeat("n", 65)}); err == nil {
		t.Error("a name of 65 bytes was taken")
	}
}

// TestSameName: two nodes with one name by mistake are two members.
func TestSameName(t *testing.T) {
	same := func(c *Config) { c.Self.Name = "n1" }
	a := open(t, "a", same)
	b := open(t, "b", same, a)
	awaitView(t, "a alive, b alive", a, b)
}

// TestOneID: of two nodes with one ID, such as of copied directories, the second is
// counted as a conflict and does not take the first one's place.
func TestOneID(t *testing.T) {
	a, b := open(t, "a", nil), open(t, "b", nil)
	a2 := open(t, "b", func(c *Config) { c.Self.Name = "copy" }, a, b)
	a3 := open(t, "c", nil, a, b)
	await(t, "the conflict is counted", func() bool {
		return testutil.ToFloat64(a.metrics.conflicts)+testutil.ToFloat64(b.metrics.conflicts) > 0
	})
	awaitView(t, "a alive, b alive, c alive", a, a3)
	_ = a2
}

// TestLeave: a member that leaves is dead at once, and forgotten after a while.
func TestLeave(t *testing.T) {
	patient := func(c *Config) { c.times.probe = time.Minute } // so that probes find nothing
	a := open(t, "a", func(c *Config) { patient(c); c.times.forget = 300 * time.Millisecond })
	b := open(t, "b", patient, a)
	awaitView(t, "a alive, b alive", a, b)
	began := time.Now()
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %s", took)
	}
	if err := b.Update(b.config.Self); !errors.Is(err, ErrClosed) {
		t.Errorf("Update after Close: %v", err)
	}
	await(t, "b is dead or forgotten", func() bool { return view(a) != "a alive, b alive" })
	awaitView(t, "a alive", a)
}

// TestDies: a member that was killed is found dead, is found again when it comes back
// knowing no other, and may have moved.
func TestDies(t *testing.T) {
	a := open(t, "a", nil)
	b := open(t, "b", nil, a)
	awaitView(t, "a alive, b alive", a, b)
	die(t, b)
	awaitView(t, "a alive, b dead", a)
	again := open(t, "b", func(c *Config) { c.Bind = b.Address(); c.Self.Name = "new" })
	awaitView(t, "a alive, b alive", a, again)
	if got := a.List()[1].Name; got != "new" {
		t.Errorf("name %s, want new", got)
	}
	die(t, again)
	awaitView(t, "a alive, b dead", a)
	moved := open(t, "b", nil, a)
	awaitView(t, "a alive, b alive", a, moved)
}

// TestJoinsAgain: a name that is not known yet, and then an address where nothing
// listens yet, are tried again; they are resolved again each time.
func TestJoinsAgain(t *testing.T) {
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := reserved.Addr().String()
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	a := open(t, "a", func(c *Config) {
		c.Join = []string{"b.test:" + port}
		c.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			if host != "b.test" {
				return nil, errors.New("unexpected name")
			}
			if asked.Add(1) < 3 {
				return nil, errors.New("no such name")
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	await(t, "the name is resolved", func() bool { return asked.Load() > 3 })
	if err := reserved.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, "b", func(c *Config) { c.Bind = at })
	awaitView(t, "a alive, b alive", a, b)
	if failures := testutil.ToFloat64(a.metrics.joinFailures); failures < 2 {
		t.Errorf("%v failures were counted", failures)
	}
}

func refusals(m *Members) float64 { return testutil.ToFloat64(m.metrics.refused) }

// TestRefusals: what is not this cluster's gossip is refused and counted, and disturbs
// none of it.
func TestRefusals(t *testing.T) {
	a := open(t, "a", nil)
	b := open(t, "b", nil, a)
	awaitView(t, "a alive, b alive", a, b)
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	send := func(network string, content []byte) func() {
		return func() {
			conn, err := net.Dial(network, a.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(content); err != nil {
				t.Fatal(err)
			}
			if network == "tcp" {
				_, _ = io.Copy(io.Discard, conn) // until the other end closes it
			}
		}
	}
	stranger := func(key []byte) func() {
		return func() {
			s := open(t, "s", func(c *Config) { c.Key = key }, a)
			await(t, "the stranger fails", func() bool { return testutil.ToFloat64(s.metrics.joinFailures) > 1 })
			if got := view(s); got != "s alive" {
				t.Errorf("the stranger sees %s", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, test := range []struct {
		name string
		do   func()
	}{
		{"random packet", send("udp", noise)},
		{"one byte", send("udp", []byte{1})},
		{"plain gossip", send("udp", []byte{4, 0x80})},
		{"random stream", send("tcp", noise)},
		{"a request of HTTP", send("tcp", []byte("GET / HTTP/1.1\r\n\r\n"))},
		{"a length of 4 GiB", send("tcp", []byte{10, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})},
		{"another key", stranger(bytes.Repeat([]byte{8}, 32))},
		{"no key", stranger(nil)},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := refusals(a)
			test.do()
			await(t, "the refusal is counted", func() bool { return refusals(a) > before })
		})
	}
	c := open(t, "c", nil, a)
	awaitView(t, "a alive, b alive, c alive", a, b, c)
}

// badly says of itself what cannot be read.
type badly struct{ delegate }

func (badly) NodeMeta(int) []byte { return []byte{metaVersion + 1, 0, 0} }

// TestUnreadable: a node with the key whose description cannot be read is no member.
func TestUnreadable(t *testing.T) {
	a := open(t, "a", nil)
	c := memberlist.DefaultLocalConfig()
	c.Name, c.BindAddr, c.BindPort, c.SecretKey = "b", "127.0.0.1", 0, testKey
	c.Delegate, c.Logger = badly{}, log.New(io.Discard, "", 0)
	b, err := memberlist.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Join([]string{a.Address()}); err != nil {
		t.Error(err)
	}
	await(t, "the refusal is counted", func() bool { return refusals(a) > 0 })
	if got := view(a); got != "a alive" {
		t.Errorf("a sees %s", got)
	}
	if err := b.Shutdown(); err != nil {
		t.Error(err)
	}
}

// TestTooManyConnections: connections that say nothing are bounded, and end with the
// member.
func TestTooManyConnections(t *testing.T) {
	a := open(t, "a", nil)
	var all []net.Conn
	for range maxStreams + 5 {
		conn, err := net.Dial("tcp", a.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn)
	}
	await(t, "five are refused", func() bool { return refusals(a) >= 5 })
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range all {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection has outlived the member")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	busy := open(t, "a", nil)
	good := Member{ID: "b", Name: "b"}
	for want, config := range map[string]Config{
		"want an ID and a name":             {Bind: "127.0.0.1:0"},
		"name of 65 bytes: want 64":         {Self: Member{ID: "b", Name: strings.Repeat("n", 65)}, Bind: "127.0.0.1:0"},
		`name "a b": want printable`:        {Self: Member{ID: "b", Name: "a b"}, Bind: "127.0.0.1:0"},
		"address of 300 bytes":              {Self: Member{ID: "b", Name: "b", Address: strings.Repeat("a", 300)}, Bind: "127.0.0.1:0"},
		"that other nodes reach":            {Self: good, Bind: "0.0.0.0:0"},
		`gossip address "x"`:                {Self: good, Bind: "x"},
		`port "x"`:                          {Self: good, Bind: "127.0.0.1:x"},
		"key size must be":                  {Self: good, Bind: "127.0.0.1:0", Key: []byte("short")},
		"address already in use":            {Self: good, Bind: busy.Address()},
		`gossip address "nowhere.invalid:1`: {Self: good, Bind: "nowhere.invalid:1", resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such name") }},
	} {
		m, err := Open(config)
		if err == nil {
			_ = m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := open(t, "a", func(c *Config) { c.Registerer = registry })
	b := open(t, "b", nil, a)
	awaitView(t, "a alive, b alive", a, b)
	want := `# HELP corona_gossip_members Members known by gossip, this node included.
# TYPE corona_gossip_members gauge
corona_gossip_members{state="alive"} 2
corona_gossip_members{state="dead"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "corona_gossip_members"); err != nil {
		t.Error(err)
	}
}

func TestMeta(t *testing.T) {
	long := Member{
		ID: strings.Repeat("i", maxID), Name: strings.Repeat("n", maxName), Address: strings.Repeat("a", maxAddress),
		Cluster: strings.Repeat("c", maxCluster), Fresh: true, Expect: maxExpect, Draining: true,
	}
	for _, m := range []Member{{ID: "a", Name: "b"}, long} {
		encoded, err := encodeMeta(m)
		if err != nil || len(encoded) > 512 {
			t.Fatalf("%d bytes, %v", len(encoded), err)
		}
		got, err := decodeMeta(append(encoded, "of a later version"...))
		if got.ID = m.ID; err != nil || got != m {
			t.Errorf("decoded %+v, %v; want %+v", got, err, m)
		}
		for n := range len(encoded) {
			if got, err := decodeMeta(encoded[:n]); err == nil {
				t.Errorf("%d of %d bytes were read as %+v", n, len(encoded), got)
			}
		}
	}
}

// FuzzMeta: what can be decoded is within the limits and is encoded to what is decoded
// to the same.
func FuzzMeta(f *testing.F) {
	for _, m := range []Member{{ID: "a", Name: "b"}, {ID: "a", Name: "b", Address: "h:1", Cluster: "c", Fresh: true, Expect: 300, Draining: true}} {
		encoded, err := encodeMeta(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		m.ID = "a"
		encoded, err := encodeMeta(m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		again, err := decodeMeta(encoded)
		if again.ID = "a"; err != nil || again != m {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
