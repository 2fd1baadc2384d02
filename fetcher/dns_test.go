package fetcher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// zone is a resolver in memory, with virtual time.
type zone struct {
	mu    sync.Mutex
	addrs map[string][]string
	takes time.Duration // a lookup
	dead  bool          // a lookup of a name without addresses has no end
	asked []string
	most  int // lookups at a time, so far
	now   int
}

func (z *zone) ask(ctx context.Context, _, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	z.asked = append(z.asked, host)
	z.now++
	z.most = max(z.most, z.now)
	addrs := z.addrs[host]
	z.mu.Unlock()
	defer func() {
		z.mu.Lock()
		z.now--
		z.mu.Unlock()
	}()
	answers := time.After(z.takes)
	if z.dead && addrs == nil {
		answers = nil
	}
	select {
	case <-answers:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var found []netip.Addr
	for _, a := range addrs {
		found = append(found, netip.MustParseAddr(a))
	}
	return found, nil
}

// newTestNames returns names that ask z.
func newTestNames(t testing.TB, z *zone, config Config) *names {
	f := newTestFetcher(t, config)
	f.dialer.names.ask = z.ask
	return f.dialer.names
}

func TestNamesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"::ffff:192.0.2.1", "2001:db8::1"}}, takes: time.Second}
		n := newTestNames(t, z, Config{})
		want := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
		asked := func(host string, lookups int) {
			t.Helper()
			addrs, err := n.lookup(t.Context(), host)
			if host == "a.example" && (err != nil || !slices.Equal(addrs, want)) {
				t.Errorf("lookup(%s) = %v, %v", host, addrs, err)
			}
			if host != "a.example" && classify(t.Context(), err) != DNS {
				t.Errorf("lookup(%s): %v", host, err)
			}
			if len(z.asked) != lookups {
				t.Errorf("%d lookups; want %d", len(z.asked), lookups)
			}
		}
		asked("a.example", 1)
		asked("a.example", 1)
		<-time.After(nameLifetime - time.Millisecond)
		asked("a.example", 1)
		<-time.After(time.Millisecond)
		asked("a.example", 2)
		asked("none.example", 3)
		<-time.After(absentLifetime - time.Millisecond)
		asked("none.example", 3)
		<-time.After(time.Millisecond)
		asked("none.example", 4)
	})
}

func TestOneLookupForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"192.0.2.1"}}, takes: time.Second}
		n := newTestNames(t, z, Config{})
		var all sync.WaitGroup
		begun := time.Now()
		for range 50 {
			all.Go(func() {
				if addrs, err := n.lookup(t.Context(), "a.example"); err != nil || len(addrs) != 1 {
					t.Errorf("%v, %v", addrs, err)
				}
			})
		}
		all.Wait()
		if len(z.asked) != 1 || time.Since(begun) != time.Second {
			t.Errorf("%d lookups in %s", len(z.asked), time.Since(begun))
		}
	})
}

// TestLookupOutlivesWhoAsked holds that the caller whose lookup others wait for can
// give up without failing them.
func TestLookupOutlivesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"192.0.2.1"}}, takes: 3 * time.Second}
		n := newTestNames(t, z, Config{})
		first, cancel := context.WithCancel(t.Context())
		second, cancelSecond := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancelSecond()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := n.lookup(first, "a.example"); !errors.Is(err, context.Canceled) {
				t.Errorf("who gave up: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := n.lookup(second, "a.example"); classify(second, err) != DNS || !isTimeout(err) {
				t.Errorf("whose time was over: %v", err)
			}
		})
		for range 10 {
			all.Go(func() {
				if addrs, err := n.lookup(t.Context(), "a.example"); err != nil || len(addrs) != 1 {
					t.Errorf("who waited: %v, %v", addrs, err)
				}
			})
		}
		<-time.After(time.Second)
		cancel()
		all.Wait()
		if len(z.asked) < 2 || len(z.asked) > 3 || z.most != 1 {
			t.Errorf("%d lookups, %d at a time", len(z.asked), z.most)
		}
	})
}

func TestLookupTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTestNames(t, &zone{takes: time.Hour}, Config{})
		begun := time.Now()
		for range 2 {
			if _, err := n.lookup(t.Context(), "slow.example"); classify(t.Context(), err) != DNS {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != lookupTime {
			t.Errorf("took %s; the second should have been told at once", took)
		}
	})
}

// Names whose servers are silent keep those that had addresses before waiting for nothing.
func TestDeadNamesAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"192.0.2.1"}}, takes: time.Second, dead: true}
		n := newTestNames(t, z, Config{MaxLookups: 4})
		if _, err := n.lookup(t.Context(), "a.example"); err != nil {
			t.Fatal(err)
		}
		<-time.After(nameLifetime)
		var asking sync.WaitGroup
		for i := range 20 {
			asking.Go(func() { _, _ = n.lookup(t.Context(), strconv.Itoa(i)+".dead.example") })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := n.lookup(t.Context(), "a.example"); err != nil || time.Since(began) > z.takes {
			t.Errorf("a name that was known is found after %v, %v", time.Since(began), err)
		}
		asking.Wait()
		if z.most > 4 {
			t.Errorf("%d lookups at a time", z.most)
		}
	})
}

// TestNamesAreCapped holds that neither what is kept nor what is asked at a time
// grows with the number of hosts.
func TestNamesAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: make(map[string][]string), takes: time.Second}
		n := newTestNames(t, z, Config{MaxNames: 10, MaxLookups: 3})
		for i := range 30 {
			z.addrs[strconv.Itoa(i)+".example"] = []string{"192.0.2.1"}
		}
		var all sync.WaitGroup
		begun := time.Now()
		for i := range 30 {
			all.Go(func() {
				if _, err := n.lookup(t.Context(), strconv.Itoa(i)+".example"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if z.most != 3 || n.count() != 10 || time.Since(begun) != 10*time.Second {
			t.Errorf("%d at a time, %d kept, in %s", z.most, n.count(), time.Since(begun))
		}
		z.takes = 5 * time.Second
		for _, host := range []string{"x.example", "y.example", "z.example"} {
			all.Go(func() { _, _ = n.lookup(t.Context(), host) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.lookup(ctx, "late.example"); classify(ctx, err) != Busy {
			t.Errorf("with all lookups under way: %v", err)
		}
		all.Wait()
		if _, err := n.lookup(t.Context(), "late.example"); classify(t.Context(), err) != DNS {
			t.Errorf("our own load was kept as an answer: %v", err)
		}
	})
}

func TestManyAddresses(t *testing.T) {
	z := &zone{addrs: map[string][]string{"a.example": slices.Repeat([]string{"192.0.2.1"}, 1000)}}
	addrs, err := newTestNames(t, z, Config{}).lookup(t.Context(), "a.example")
	if err != nil || len(addrs) != maxAddrs {
		t.Errorf("%d addresses, %v", len(addrs), err)
	}
}

// wire is a network that answers at some addresses, refuses at some, and swallows
// what goes to the others.
type wire struct {
	guarded         bool
	answers, refuse []string
	dialled         []string // what got beyond the guard
}

func (w *wire) dial(ctx context.Context, _, address string) (net.Conn, error) {
	network := "tcp4"
	if strings.HasPrefix(address, "[") {
		network = "tcp6"
	}
	if err := guard.Control(!w.guarded)(network, address, nil); err != nil {
		return nil, &net.OpError{Op: "dial", Err: err}
	}
	w.dialled = append(w.dialled, address)
	host, _, _ := net.SplitHostPort(address)
	switch {
	case slices.Contains(w.answers, host):
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	case slices.Contains(w.refuse, host):
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	<-ctx.Done()
	return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
}

// newTestDialer returns a dialer that finds names in z and dials into w.
func newTestDialer(t testing.TB, z *zone, w *wire) *dialer {
	f := newTestFetcher(t, Config{AllowPrivate: !w.guarded})
	f.dialer.names.ask, f.dialer.tcp = z.ask, w.dial
	return f.dialer
}

func (d *dialer) connectWithin(t testing.TB, within time.Duration, hostPort string) error {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c, err := d.connect(ctx, hostPort)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// TestAddressesInTurn holds that an address which swallows everything costs a part
// of the time once, and nothing from then on.
func TestAddressesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"192.0.2.1", "192.0.2.2", "2001:db8::3"}}}
		w := &wire{refuse: []string{"192.0.2.2"}, answers: []string{"2001:db8::3"}}
		d := newTestDialer(t, z, w)
		begun := time.Now()
		for range 3 {
			if err := d.connectWithin(t, 30*time.Second, "a.example:80"); err != nil {
				t.Fatal(err)
			}
		}
		const third = "[2001:db8::3]:80"
		if want := []string{"192.0.2.1:80", "192.0.2.2:80", third, third, third}; !slices.Equal(w.dialled, want) {
			t.Errorf("dialled %v", w.dialled)
		}
		if took := time.Since(begun); took != 10*time.Second || len(z.asked) != 1 {
			t.Errorf("took %s, %d lookups", took, len(z.asked))
		}
	})
}

func TestDeadAddressesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"192.0.2.1", "192.0.2.2"}}}
		w := &wire{refuse: []string{"192.0.2.1", "192.0.2.2"}, answers: []string{"192.0.2.3"}}
		d := newTestDialer(t, z, w)
		if err := d.connectWithin(t, 30*time.Second, "a.example:80"); classify(t.Context(), err) != Connect {
			t.Error(err)
		}
		z.addrs["a.example"] = []string{"192.0.2.3"}
		if err := d.connectWithin(t, 30*time.Second, "a.example:80"); err != nil {
			t.Errorf("after it moved: %v", err)
		}
	})
}

// TestRebindingFromMemory is row 15 for addresses that are kept: a name that was
// public and then is private, and one that is both, lead to no packet to a private
// address, however often they are asked for.
func TestRebindingFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{addrs: map[string][]string{"a.example": {"93.184.216.34"}}}
		w := &wire{guarded: true, answers: []string{"93.184.216.34"}}
		d := newTestDialer(t, z, w)
		answers := [][]string{
			{"93.184.216.34"},
			{"127.0.0.1"},
			{"10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254"},
			{"127.0.0.1", "93.184.216.34", "::1"},
		}
		for _, addrs := range answers {
			z.addrs["a.example"] = addrs
			w.dialled = nil
			public := slices.Contains(addrs, "93.184.216.34")
			for range 3 {
				err := d.connectWithin(t, 30*time.Second, "a.example:80")
				if (err == nil) != public || err != nil && classify(t.Context(), err) != Forbidden {
					t.Errorf("%v: %v", addrs, err)
				}
			}
			if slices.ContainsFunc(w.dialled, func(a string) bool { return a != "93.184.216.34:80" }) {
				t.Errorf("%v: dialled %v", addrs, w.dialled)
			}
			<-time.After(nameLifetime)
		}
	})
}

// TestRebindingWithTheKernel is row 15 through the real dialler and a real name
// server: a private address that is kept is refused each time it is dialled.
func TestRebindingWithTheKernel(t *testing.T) {
	victim := listen(t, func(*side) { t.Error("a connection was made") })
	names := serveDNS(t)
	names.answer([][4]byte{{127, 0, 0, 1}}, nil)
	f := newTestFetcher(t, Config{Resolver: names.resolver()})
	url := strings.Replace(victim.url, "127.0.0.1", "rebind.example", 1)
	for range 3 {
		_, err := f.Fetch(t.Context(), Request{URL: url})
		wantClass(t, err, Forbidden)
		f.dialer.names.mu.Lock()
		f.dialer.names.mu.known.put("rebind.example", keptName("127.0.0.1"))
		f.dialer.names.mu.Unlock()
	}
	if victim.connections() != 0 {
		t.Errorf("%d connections made", victim.connections())
	}
}

// keptName is a name whose addresses were found just now.
func keptName(addr string) *name {
	ready := make(chan struct{})
	close(ready)
	return &name{ready: ready, addrs: []netip.Addr{netip.MustParseAddr(addr)}, until: time.Now().Add(nameLifetime)}
}
