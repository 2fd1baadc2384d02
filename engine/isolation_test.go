package engine

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/fetcher"
)

// Hosts that hang for as long as a fetch may, and there are more of them than
// workers, make no other host's poll late.
func TestHostIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second, Workers: 16})
		defer w.close()
		healthy := urls(1, numbered("well", 20)...)
		w.serve(5, origin{status: 200, body: "x", etag: "e", after: 20 * time.Millisecond}, healthy...)
		w.pass(30 * time.Second)
		clear(w.asked)
		w.serve(1, origin{fails: true, class: fetcher.Timeout, after: 30 * time.Second}, urls(5, numbered("dead", 30)...)...)
		w.serve(1, origin{fails: true, class: fetcher.TooLarge, after: 6 * time.Second}, urls(5, "endless.example")...)
		w.pass(10 * time.Minute)
		if late := w.engine.Load().LatenessP99; late > together+time.Millisecond {
			t.Errorf("p99 of lateness is %v", late)
		}
		for _, url := range healthy {
			asked := w.asked[url]
			for i := 1; i < len(asked); i++ {
				if gap := asked[i].Sub(asked[i-1]); (gap - 2*time.Second).Abs() > 20*time.Millisecond {
					t.Fatalf("%s was asked after %v, want every 2 s", url, gap)
				}
			}
			if len(asked) != 300 {
				t.Errorf("%s was asked %d times, want 300", url, len(asked))
			}
		}
		for host, most := range w.crowd {
			if most > 1 && (strings.HasPrefix(host, "dead") || host == "endless.example:80") {
				t.Errorf("%s held %d workers at a time", host, most)
			}
		}
	})
}

// One host that begins to hang keeps at most its two workers, and others none.
func TestOneHangingHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second, Workers: 4})
		defer w.close()
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, urls(50, "turns.example")...)
		well := urls(10, "well.example")
		w.serve(5, origin{status: 200, body: "x", etag: "e"}, well...)
		w.pass(20 * time.Second)
		w.mu.Lock()
		for url, o := range w.origins {
			if strings.Contains(url, "turns") {
				o.after = 30 * time.Second
			}
		}
		clear(w.asked)
		w.mu.Unlock()
		w.pass(time.Minute)
		for _, url := range well {
			if n := len(w.asked[url]); n != 30 {
				t.Errorf("%s was asked %d times in a minute, want 30", url, n)
			}
		}
		if most := w.crowd["turns.example:80"]; most > 2 {
			t.Errorf("the hanging host was asked %d times at a time", most)
		}
		if late := w.engine.Load().LatenessP99; late > together+time.Millisecond {
			t.Errorf("p99 of lateness is %v", late)
		}
	})
}

// A thousand new channels on one host come in single file, at its gap; private
// hosts have a gap of their own; parallelism is kept.
func TestHostGapAndParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Hour, Floor: time.Second, HostGap: 100 * time.Millisecond, HostParallel: 3})
		defer w.close()
		slowly := origin{status: 200, body: "x", after: 250 * time.Millisecond}
		public, private := urls(100, "public.example"), urls(100, "127.0.0.1:9100", "localhost", "10.1.2.3")
		w.serve(1, slowly, public...)
		w.serve(1, slowly, private...)
		w.pass(time.Minute)
		var begun []time.Time
		for _, url := range public {
			if first := w.asked[url][0].Sub(w.start); first > 11*time.Second {
				t.Errorf("%s waited %v, at 10 a second", url, first)
			}
			begun = append(begun, w.asked[url]...)
		}
		slices.SortFunc(begun, time.Time.Compare)
		for i := 1; i < len(begun); i++ {
			if gap := begun[i].Sub(begun[i-1]); gap < 100*time.Millisecond {
				t.Fatalf("asked twice within %v", gap)
			}
		}
		for host, most := range w.crowd {
			if most != 3 {
				t.Errorf("%s was asked %d times at a time, want 3", host, most)
			}
		}
		for _, url := range private {
			if last := w.asked[url][0].Sub(w.start); last > 9*time.Second {
				t.Errorf("%s waited %v though its host has no gap", url, last)
			}
		}
	})
}
