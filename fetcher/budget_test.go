package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestAccounts holds the budget through any order of growth and release: it counts
// exactly what is held, never beyond its limit, and no fetch gets more than twice
// what is left.
func TestAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 4 << 20
		b := newBudget(most)
		accounts := make([]account, 5)
		buffers := make([][]byte, len(accounts))
		for i := range accounts {
			accounts[i].budget, accounts[i].host = b, fmt.Sprint(i)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(accounts)-1).Draw(t, "whose")
			a, before := &accounts[i], b.taken()
			if rapid.IntRange(0, 5).Draw(t, "release") == 0 {
				buffers[i] = a.drop(buffers[i])
				a.settle()
				continue
			}
			grown, err := a.grow(buffers[i], 2, most)
			switch {
			case err == nil && cap(grown) <= cap(buffers[i]):
				t.Fatalf("grew from %d to %d", cap(buffers[i]), cap(grown))
			case err != nil && b.taken() != before:
				t.Fatalf("%v; %d taken, after %d", err, b.taken(), before)
			}
			buffers[i] = grown
			var held int64
			for j := range accounts {
				large := 0
				if cap(buffers[j]) > small {
					large = cap(buffers[j])
				}
				if accounts[j].held != large {
					t.Fatalf("%d charged for a buffer of %d", accounts[j].held, cap(buffers[j]))
				}
				held += int64(large)
			}
			if held != b.taken() || held > most || err == nil && int64(a.held) > share*(most-held) {
				t.Fatalf("%d held, %d taken, of %d; %d by the last", held, b.taken(), most, a.held)
			}
		}
	})
}

// TestGrowthKeepsContent holds that a body is the same however often it grew, and
// never has room for more than its limit and one byte.
func TestGrowthKeepsContent(t *testing.T) {
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(rand.N(256))
	}
	for _, size := range []int{0, 1, 4095, 4096, 4097, small, small + 1, 1 << 19, 1<<20 - 1, 1 << 20} {
		a := account{budget: newBudget(1 << 30)}
		got, err := a.readAll(nil, bytes.NewReader(content[:size]), size)
		if err != nil || !bytes.Equal(got, content[:size]) || cap(got) > max(size+1, 4<<10) {
			t.Errorf("%d bytes: %d in a buffer of %d, %v", size, len(got), cap(got), err)
		}
		if _, err := a.readAll(nil, bytes.NewReader(content[:size]), size-1); size > 0 && !isClass(err, TooLarge) {
			t.Errorf("%d bytes of at most %d: %v", size, size-1, err)
		}
	}
}

func isClass(err error, want Class) bool { return classify(context.Background(), err) == want }

// TestOneMayHaveMost holds that a body of MaxBody can grow when nothing else is in
// flight, and be decoded to as much when it came at a third of that; that what could
// never fit is the origin's fault; and that forty bodies that grow for ever leave room
// for one of a quarter MiB, even if they keep what they have.
func TestOneMayHaveMost(t *testing.T) {
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b := newBudget(config.MaxInFlight)
	grownTo := func(a *account, size int) (err error) {
		var buffer []byte
		for cap(buffer) <= size && err == nil {
			buffer, err = a.grow(buffer, 2, config.MaxBody)
		}
		return err
	}
	alone := account{budget: b}
	if err := grownTo(&alone, config.MaxBody); err != nil {
		t.Error(err)
	}
	alone.settle()
	for _, size := range []int{config.MaxBody / 3, config.MaxBody} {
		if _, err := alone.alloc(size); err != nil {
			t.Error(err)
		}
	}
	if _, err := alone.alloc(config.MaxBody); !isClass(err, TooLarge) {
		t.Errorf("more than one may ever have: %v", err)
	}
	alone.settle()

	hogs := make([]account, 40)
	buffers := make([][]byte, len(hogs))
	for range 20 {
		for i := range hogs {
			hogs[i].budget, hogs[i].host = b, fmt.Sprint("hog", i)
			buffers[i], _ = hogs[i].grow(buffers[i], 2, config.MaxBody)
		}
	}
	newcomer := account{budget: b}
	if _, err := newcomer.alloc(256 << 10); err != nil {
		t.Error(err)
	}
}

// TestDecodedBodies holds that bodies of all lengths come out whole in all codings,
// decoded at once or measured first.
func TestDecodedBodies(t *testing.T) {
	const limit = 1 << 20
	codings := []struct {
		name string
		code func([]byte) []byte
	}{{"gzip", gzipped}, {"deflate", zlibbed}, {"deflate", deflated}, {"br", brotlied}, {"zstd", zstded}}
	for _, size := range []int{1, 5000, small, small + 1, measured, measured + 1, limit, limit + 1} {
		page := []byte(strings.Repeat("<item>entry</item>\n", size/19+1)[:size])
		for _, coding := range codings {
			o := listen(t, once(coded(coding.name, coding.code(page))))
			f := newTestFetcher(t, Config{AllowPrivate: true, MaxBody: limit})
			resp, err := f.Fetch(t.Context(), Request{URL: o.url})
			if size > limit {
				wantClass(t, err, TooLarge)
			} else if err != nil || !bytes.Equal(resp.Body, page) {
				t.Fatalf("%d bytes, %s: %v", size, coding.name, err)
			} else {
				if held := f.budget.taken(); size > small == (held == 0) || held > 4*int64(size) {
					t.Errorf("%d bytes, %s: %d counted", size, coding.name, held)
				}
				resp.Release()
			}
			if held := f.budget.taken(); held != 0 {
				t.Errorf("%d bytes, %s: %d counted after the release", size, coding.name, held)
			}
		}
	}
}

// TestForty is rows 1 and 4 with forty hosts at once: endless bodies, and bombs in
// every coding. Memory is bounded for all of them together, every bomb whose length
// can be counted is the origin's fault, and nothing is held afterwards.
func TestForty(t *testing.T) {
	zeros := make([]byte, 9*mebibyte)
	const chunks = ok + "Transfer-Encoding: chunked\r\n\r\n"
	kinds := []struct {
		handle func(*side)
		bomb   bool
	}{
		{endless(ok+"\r\n", "xxxxxxxxxxxxxxxx"), false},
		{endless(chunks, "400\r\n"+strings.Repeat("x", 1024)+"\r\n"), false},
		{always(coded("gzip", gzipped(zeros))), true},
		{always(coded("deflate", deflated(zeros))), true},
		{always(coded("br", brotlied(zeros))), true},
		{always(coded("zstd", zstded(zeros))), true},
	}
	f := newTestFetcher(t, Config{AllowPrivate: true})
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range 40 {
		kind := kinds[i%len(kinds)]
		url := listen(t, kind.handle).url
		all.Go(func() {
			<-begin
			for range 2 {
				_, err := f.Fetch(t.Context(), Request{URL: url})
				if !isFetchError(err, TooLarge) && (kind.bomb || !isFetchError(err, Busy)) {
					t.Errorf("kind %d: %v", i%len(kinds), err)
				}
				if taken := f.budget.taken(); taken > f.budget.most {
					t.Errorf("%d bytes in flight", taken)
				}
			}
		})
	}
	grown := heapGrowth(func() {
		close(begin)
		all.Wait()
	})
	t.Logf("the heap grew by %d KiB beyond that of a healthy run", grown>>10)
	// The budget, a brotli decoder's window, and each fetch's small buffers; twice,
	// since garbage may be as much again.
	if grown > 2*(f.budget.most+8*mebibyte+40*4*small) {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if held := f.budget.taken(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
}

func isFetchError(err error, class Class) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Class == class
}

// heapGrowth returns by how much the heap grew at most while do ran, garbage
// included, in bytes, beyond what it grows to by itself: garbage is collected when
// there is as much of it as of what is in use.
func heapGrowth(do func()) int64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() int64 {
		runtimemetrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := 2 * heap()
	most, done := before, make(chan struct{})
	var watched sync.WaitGroup
	watched.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-done:
				return
			}
		}
	})
	do()
	close(done)
	watched.Wait()
	return most - before
}

// TestStalledBodies is rows 4 and 6: forty bodies of 250 KiB that never end delay
// no other: feeds of usual length go on, and one that the budget has no room for gets
// that of as many stalled ones as it takes, once these have had their grace.
func TestStalledBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled := []byte(ok + "\r\n" + strings.Repeat("x", 250<<10))
		page := strings.Repeat("x", 200<<10)
		huge := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, 6*mebibyte, strings.Repeat("x", 6*mebibyte))
		n, _ := memory(t, func(s *side) { s.answer(string(stalled)); s.awaitEnd() })
		_, healthy := memory(t, always(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(page), page)))
		_, large := memory(t, once(huge))
		n["healthy.example:80"], n["large.example:80"] = healthy, large
		f := newTestFetcher(t, Config{Dial: n.dial, Timeout: 30 * time.Second})
		var all sync.WaitGroup
		for i := range 40 {
			n[fmt.Sprintf("h%d.example:80", i)] = n["feeds.example:80"]
		}
		for i := range 40 {
			all.Go(func() {
				_, err := f.Fetch(t.Context(), Request{URL: fmt.Sprintf("http://h%d.example/", i)})
				if !isFetchError(err, Timeout) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if held := f.budget.taken(); held < 40*250<<10 {
			t.Errorf("%d bytes held", held)
		}
		begun := time.Now()
		for range 10 {
			resp, err := f.Fetch(t.Context(), Request{URL: "http://healthy.example/"})
			if err != nil || len(resp.Body) != len(page) {
				t.Fatal(err)
			}
			resp.Release()
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("took %s", took)
		}
		held := f.budget.taken()
		resp, err := f.Fetch(t.Context(), Request{URL: "http://large.example/"})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 2*grace {
			t.Errorf("took %s", took)
		}
		resp.Release()
		synctest.Wait()
		if left := f.budget.taken(); left == held || left < held-1*mebibyte {
			t.Errorf("of %d bytes %d are held still; want those of a few bodies to be taken", held, left)
		}
		all.Wait()
	})
}
