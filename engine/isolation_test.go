package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
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
		if late := w.engine.Load().LatenessP99; late > time.Millisecond {
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
		if late := w.engine.Load().LatenessP99; late > time.Millisecond {
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

// First polls of long pages begin few at a time: more as they come in, if all that may
// run do; half as many, once for all that were under way, when one found no memory
// free; from then on one more each time that all have come in. Never none, never
// beyond their share.
func TestFirstPollsEase(t *testing.T) {
	s := newSchedule(Config{}.withDefaults())
	now := int64(1e18)
	round := func(r result, times int) int { // of polls that begin and end together
		begun := time.Unix(0, now+1)
		now += 2
		for range times {
			s.polls[strange] = s.opening
			s.ease(&poll{class: strange, begun: begun}, &r, now)
		}
		return s.opening
	}
	good, busy := result{outcome: changed}, result{outcome: canceled, busy: true}
	for _, step := range []struct {
		r           result
		times, want int
	}{
		{good, 0, 64}, {good, 1000, 512}, {busy, 500, 256}, {result{outcome: canceled}, 1, 256},
		{good, 255, 256}, {good, 1, 257}, {busy, 1, 128}, {good, 128, 129},
	} {
		if got := round(step.r, step.times); got != step.want {
			t.Errorf("%+v %d times: %d, want %d", step.r.outcome, step.times, got, step.want)
		}
	}
	for range 20 {
		round(busy, 1)
	}
	if s.opening != leastOpening {
		t.Errorf("%d at the least", s.opening)
	}
	s.polls[strange] = 0
	for range 100 {
		s.ease(&poll{class: strange, begun: time.Unix(0, now+1)}, &good, now+2)
	}
	if s.opening != leastOpening {
		t.Errorf("%d after polls that ran alone, which say nothing", s.opening)
	}
}

// A due poll that begins late while first polls are under way halves these, once for
// all that waited with it: an import may not make those late who were there before.
// It leaves as many as an import begins with.
func TestFirstPollsYield(t *testing.T) {
	s := newSchedule(Config{}.withDefaults())
	const now = int64(1e18)
	s.opening = 300
	for _, step := range []struct {
		name          string
		others        int // strange polls under way
		eligible, now int64
		late          time.Duration
		want          int
	}{
		{"in time", 300, now, now, lateEnough, 300},
		{"late, with nobody in its way", 0, now, now, time.Second, 300},
		{"late", 300, now, now + 1, time.Second, 150},
		{"waited with the one before", 150, now, now + 2, time.Second, 150},
		{"late again", 150, now + 2, now + 3, time.Second, 75},
		{"at the least", 75, now + 4, now + 5, time.Second, 64},
		{"and again", 64, now + 6, now + 7, time.Second, 64},
	} {
		s.polls[strange] = step.others
		s.late(step.eligible, step.late, step.now)
		if s.opening != step.want {
			t.Errorf("%s: %d may be under way, want %d", step.name, s.opening, step.want)
		}
	}
	s.opening = leastOpening // since no memory was free
	if s.late(now+8, time.Second, now+9); s.opening != leastOpening {
		t.Errorf("%d may be under way since a poll was late", s.opening)
	}
}

// late has a due poll end that began late.
func (s *schedule) late(eligible int64, late time.Duration, now int64) {
	p := &poll{class: steady, eligible: eligible, begun: time.Unix(0, eligible).Add(late)}
	s.ease(p, &result{outcome: notModified}, now)
}

// An import gets on while due polls begin late all the time, whoever is to blame for
// that, and while a tenth of its hosts hang.
func TestImportWhilePollsAreLate(t *testing.T) {
	s := newSchedule(Config{Interval: time.Hour, Floor: time.Minute, HostGap: time.Second}.withDefaults())
	const channels, step = 2000, int64(100 * time.Millisecond)
	start := int64(1e18)
	for i := range channels {
		url := fmt.Sprintf("http://host%d.example/", i)
		s.order(&Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1}, start)
	}
	type running struct {
		poll
		end int64
	}
	var polls []running
	begun, done := 0, 0
	for now := start; now < start+int64(2*time.Minute); now += step {
		s.promote(now)
		polls = slices.DeleteFunc(polls, func(r running) bool {
			if r.end > now {
				return false
			}
			endPoll(&s, &r.poll, now)
			done++
			return true
		})
		s.late(now-int64(lateEnough), 2*lateEnough, now)
		for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
			p.begun = time.Unix(0, now)
			took := int64(300 * time.Millisecond)
			if begun++; begun%10 == 0 {
				took = int64(30 * time.Second)
			}
			polls = append(polls, running{p, now + took})
		}
	}
	if done < channels*9/10 {
		t.Errorf("%d of %d first polls in two minutes", done, channels)
	}
}
