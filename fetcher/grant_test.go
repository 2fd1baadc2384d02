package fetcher

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestGrantsAreFair holds that those who wait for memory get it first come, first
// served, those that have shown that they deliver in turns with those that have not, and
// that an origin that has its share keeps no other waiting.
func TestGrantsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 7 << 20 // two do not fit
		b := newBudget(16 << 20)
		var order []string
		var all sync.WaitGroup
		accounts := make(map[string]*account)
		wait := func(host string, from standing) {
			a := &account{budget: b, host: host}
			accounts[host] = a
			all.Go(func() {
				if err := a.reserve(t.Context(), size, from); err != nil {
					t.Error(err)
				}
				order = append(order, host)
			})
			synctest.Wait()
		}
		wait("first", unproven)
		for _, host := range []string{"u1", "u2", "u3"} {
			wait(host, unproven)
		}
		for _, host := range []string{"p1", "p2"} {
			wait(host, proven)
		}
		for i := range 6 {
			if len(order) != i+1 {
				t.Fatalf("%v hold memory for one", order)
			}
			accounts[order[i]].settle()
			synctest.Wait()
		}
		all.Wait()
		if got := strings.Join(order, " "); got != "first p1 u1 p2 u2 u3" {
			t.Error(got)
		}

		order = nil
		one, another := &account{budget: b, host: "same"}, &account{budget: b, host: "same"}
		if err := one.reserve(t.Context(), 5<<20, proven); err != nil {
			t.Fatal(err)
		}
		if _, err := another.alloc(4 << 20); !isClass(err, Busy) {
			t.Errorf("an origin took more than its share: %v", err)
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), grace/2)
			defer cancel()
			if err := another.reserve(ctx, 5<<20, proven); err == nil {
				t.Error("an origin took more than its share")
			}
		})
		synctest.Wait()
		begun := time.Now()
		wait("other", proven)
		if len(order) != 1 || time.Since(begun) != 0 {
			t.Error("another waits for an origin that has its share")
		}
		all.Wait()
		one.settle()
		accounts["other"].settle()
		if held := b.taken(); held != 0 || len(b.mu.hosts)+len(b.mu.holders) > 0 {
			t.Errorf("%d bytes are counted still", held)
		}
	})
}

// TestLargeBodiesPassStalledOnes holds that forty hosts that announce 7 MB, send 6 and
// stall take no memory for long from those that wait for it: bodies of 1, 5 and 7 MB,
// announced or not, come one after the other, and of none a byte is thrown away.
func TestLargeBodiesPassStalledOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := memory(t, func(s *side) {
			s.answer(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, 7*mebibyte, strings.Repeat("x", 6*mebibyte)))
			s.awaitEnd()
		})
		const stalled = 40
		for i := range stalled {
			n[fmt.Sprintf("s%d.example:80", i)] = n["feeds.example:80"]
		}
		sizes := []int{1, 5, 7}
		for _, size := range sizes {
			body := strings.Repeat("x", size*mebibyte)
			_, n[fmt.Sprintf("a%d.example:80", size)] = memory(t, always(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body)))
			_, n[fmt.Sprintf("c%d.example:80", size)] = memory(t, always(fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", ok, len(body), body)))
		}
		f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 30 * time.Second})
		var all sync.WaitGroup
		for i := range stalled {
			all.Go(func() {
				_, err := f.Fetch(t.Context(), Request{URL: fmt.Sprintf("http://s%d.example/", i)})
				if !isFetchError(err, Timeout) && !isFetchError(err, Busy) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for _, size := range sizes {
			for _, kind := range []string{"a", "c"} {
				url := fmt.Sprintf("http://%s%d.example/", kind, size)
				begun := time.Now()
				room, err := f.Reserve(t.Context(), url, int64(size)*3*mebibyte/2, true)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := f.Fetch(t.Context(), Request{URL: url, Room: room})
				if err != nil {
					t.Fatalf("%s: %v", url, err)
				}
				if took := time.Since(begun); took > 3*grace || len(resp.Body) != size*mebibyte {
					t.Errorf("%s: %d bytes after %s", url, len(resp.Body), took)
				}
				resp.Release()
			}
		}
		all.Wait()
		if held := f.budget.taken(); held != 0 {
			t.Errorf("%d bytes are counted still", held)
		}
	})
}

// TestSlowFirstByteKeepsItsRequest holds that memory that was granted to a request whose
// answer is long in coming goes to those who wait, and that the request goes on.
func TestSlowFirstByteKeepsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("x", 6*mebibyte)
		whole := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body)
		n, _ := memory(t, func(s *side) {
			timer := time.NewTimer(10 * time.Second)
			defer timer.Stop()
			<-timer.C
			s.answer(whole)
		})
		_, n["quick.example:80"] = memory(t, always(whole))
		f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 30 * time.Second})
		fetch := func(url string) time.Duration {
			begun := time.Now()
			room, err := f.Reserve(t.Context(), url, 8<<20, true)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := f.Fetch(t.Context(), Request{URL: url, Room: room})
			if err != nil || len(resp.Body) != len(body) {
				t.Errorf("%s: %v", url, err)
				return 0
			}
			resp.Release()
			return time.Since(begun)
		}
		var slow sync.WaitGroup
		slow.Go(func() { fetch("http://feeds.example/feed") })
		synctest.Wait()
		if took := fetch("http://quick.example/"); took > 2*grace {
			t.Errorf("the quick one took %s", took)
		}
		slow.Wait()
	})
}

// TestSlowBodyWithoutWaiters holds that a large body may take as long as a fetch may,
// as long as no other fetch waits for its memory.
func TestSlowBodyWithoutWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("x", 2*mebibyte)
		n, _ := memory(t, func(s *side) {
			s.answer(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body[:mebibyte]))
			timer := time.NewTimer(20 * time.Second)
			defer timer.Stop()
			<-timer.C
			_, _ = s.Write([]byte(body[mebibyte:]))
		})
		f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 30 * time.Second})
		resp, err := f.Fetch(t.Context(), Request{URL: "http://feeds.example/feed"})
		if err != nil || len(resp.Body) != len(body) {
			t.Fatal(err)
		}
		resp.Release()
	})
}

// TestErrorsTellWhatCame holds that a fetch without a response tells what was received,
// and how much memory its body is to have the next time.
func TestErrorsTellWhatCame(t *testing.T) {
	body := strings.Repeat("x", 3*mebibyte)
	o := listen(t, always(fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", ok, len(body), body)))
	f := newTestFetcher(t, Config{AllowPrivate: true, MaxInFlight: 16 << 20})
	hog := account{budget: f.budget, host: "hog"}
	if _, err := hog.alloc(12 << 20); err != nil {
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), Request{URL: o.url})
	wantClass(t, err, Busy)
	failed := err.(*Error)
	if failed.WireBytes < mebibyte/2 || failed.Memory < 2*mebibyte {
		t.Errorf("%d bytes received, %d bytes to reserve", failed.WireBytes, failed.Memory)
	}
	hog.settle()
	for range 3 {
		room, err := f.Reserve(t.Context(), o.url, failed.Memory, true)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.Fetch(t.Context(), Request{URL: o.url, Room: room})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Memory < 4*mebibyte {
			t.Errorf("took %d bytes", resp.Memory)
		}
		resp.Release()
	}
	room, err := f.Reserve(t.Context(), o.url, 1<<40, false)
	if err != nil {
		t.Fatal(err)
	}
	if held := f.budget.taken(); held != f.budget.grantable() {
		t.Errorf("%d bytes granted", held)
	}
	room.Release()
	Room{}.Release()
	if held := f.budget.taken(); held != 0 {
		t.Errorf("%d bytes are counted still", held)
	}
}
