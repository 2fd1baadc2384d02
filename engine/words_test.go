package engine

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

func TestWords(t *testing.T) {
	const minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
	tests := map[string]struct {
		words     words
		remaining time.Duration
		least     time.Duration
		hold      time.Duration
	}{
		"nothing":                    {},
		"max-age":                    {words{fresh: hour, source: fetcher.SourceMaxAge}, hour, hour, hour},
		"max-age, from a cache":      {words{fresh: hour, source: fetcher.SourceMaxAge}, minute, hour, minute + time.Second},
		"max-age, stale on arrival":  {words{fresh: hour, source: fetcher.SourceMaxAge}, 0, hour, 0},
		"max-age of a year":          {words{fresh: 365 * day, source: fetcher.SourceMaxAge}, 364 * day, day, day},
		"expires is no fixed time":   {words{fresh: hour, source: fetcher.SourceExpires}, hour, 0, hour},
		"ttl":                        {words{hints: deltas.Hints{TTL: hour}}, 0, hour, hour},
		"ttl of a century":           {words{hints: deltas.Hints{TTL: 36500 * day}}, 0, day, day},
		"ttl is longer than max-age": {words{fresh: minute, source: fetcher.SourceMaxAge, hints: deltas.Hints{TTL: hour}}, minute, hour, hour},
		"max-age is longer than ttl": {words{fresh: hour, source: fetcher.SourceMaxAge, hints: deltas.Hints{TTL: minute}}, hour, hour, hour},
		"update period":              {words{hints: deltas.Hints{TTL: minute, UpdatePeriod: 2 * hour}}, 0, 2 * hour, 2 * hour},
		"skipped hours are no bound": {words{hints: deltas.Hints{SkipHours: 7}}, 0, 0, 0},
	}
	for name, test := range tests {
		if got := test.words.minInterval(); got != test.least {
			t.Errorf("%s: least %v, want %v", name, got, test.least)
		}
		if got := time.Duration(test.words.freshUntil(1e18, test.remaining) - 1e18); got != test.hold {
			t.Errorf("%s: hold %v, want %v", name, got, test.hold)
		}
	}
}

func TestBounds(t *testing.T) {
	const hour, day = time.Hour, 24 * time.Hour
	w := words{fresh: 48 * hour, source: fetcher.SourceExpires, hints: deltas.Hints{
		TTL: hour, UpdatePeriod: 7 * day, SkipHours: 1<<23 | 1<<0 | 1<<5, SkipDays: 1<<time.Sunday | 1<<time.Saturday,
	}}
	want := []Bound{
		{"expires", day, true, "48h"},
		{"ttl", hour, false, "1h"},
		{"update-period", day, true, "168h"},
		{"skip-hours", 2 * hour, false, "0, 5, 23"},
		{"skip-days", day, true, "Sunday, Saturday"},
	}
	if got := w.bounds(timespan.Setting); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// What leaves nothing is shown, and not heeded.
	w = words{hints: deltas.Hints{SkipHours: 1<<24 - 1, SkipDays: 1<<7 - 1}}
	for _, b := range w.bounds(timespan.Setting) {
		if b.Interval != 0 || !b.Clamped || b.Said == "" {
			t.Errorf("%+v", b)
		}
	}
	if len(w.bounds(timespan.Setting)) != 2 || pace.NewSkip(w.hints.SkipHours, w.hints.SkipDays).Excludes(1e18) {
		t.Errorf("%+v", w.bounds(timespan.Setting))
	}
}

// max-age with Age leaves the rest of it until the next poll (RFC 9111, section 4.2): that
// is what the next poll waits for, and what rates are planned with, whatever max-age says.
func TestMaxAgeLessAge(t *testing.T) {
	tests := map[string]struct {
		fresh time.Duration
		ages  []time.Duration // of one answer after the other
		least time.Duration   // the rest, once all have come
	}{
		"from the origin":           {100 * time.Second, []time.Duration{0, 0, 0}, 100 * time.Second},
		"always nearly over":        {100 * time.Second, []time.Duration{90 * time.Second, 90 * time.Second}, 10 * time.Second},
		"always stale":              {100 * time.Second, []time.Duration{100 * time.Second}, 0},
		"older than it may be":      {100 * time.Second, []time.Duration{500 * time.Second}, 0},
		"of a day, from a cache":    {24 * time.Hour, []time.Duration{18 * time.Hour}, 6 * time.Hour},
		"older than the clock says": {100 * time.Second, []time.Duration{-time.Minute}, 100 * time.Second},
	}
	for name, test := range tests {
		target, now := schedule.NewTarget[channelState](channel.ID{}), int64(1e18)
		for _, age := range test.ages {
			remaining := min(max(0, test.fresh-age), test.fresh)
			sayFresh(target, test.fresh, remaining, now)
			if latest := now + int64(min(remaining+time.Second, test.fresh)); target.Waits(latest) || remaining > 0 && !target.Waits(latest-1) {
				t.Errorf("%s: does not wait until %v from now, %v remain", name, time.Duration(latest-now), remaining)
			}
		}
		if got := target.Channel.words.minInterval(); (got - test.least).Abs() > test.fresh/128 {
			t.Errorf("%s: least %v, want %v", name, got, test.least)
		}
	}

	// Of a cache on the way ages are all over the place: the mean counts, and neither one
	// fresh nor one old answer changes much of it.
	target, random := schedule.NewTarget[channelState](channel.ID{}), rand.New(rand.NewPCG(1, 2))
	const fresh = 1000 * time.Second
	for i := range 400 {
		sayFresh(target, fresh, time.Duration(random.Int64N(int64(fresh))), 1e18)
		if left := target.Channel.words.minInterval(); i > 40 && (left < 200*time.Second || left > 800*time.Second) {
			t.Fatalf("least %v after %d answers", left, i)
		}
	}
}

// sayFresh has an answer of now say max-age, of which so much remains.
func sayFresh(t *target, fresh, remaining time.Duration, now int64) {
	said := words{fresh: fresh, source: fetcher.SourceMaxAge}
	said.aged = said.age(remaining, t.Channel.words)
	setWords(t, said, remaining, now)
}

// A restart waits for what was left of max-age when the answers came, not for the whole.
func TestAgeOutlivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer func() { w.close() }()
		w.origins[testURL(1)] = &origin{status: 200, body: "aged", etag: "a", maxAge: time.Hour, age: 59 * time.Minute}
		w.engine.Order(*testOrder(1, 0))
		w.pass(5 * time.Minute)
		w.restart()
		o := testOrder(1, 0)
		w.mu.Lock()
		o.Version, o.Hash = w.own(o.Channel).version, w.own(o.Channel).hash()
		w.mu.Unlock()
		before := len(w.asked[testURL(1)])
		w.engine.Order(*o)
		w.pass(5 * time.Minute)
		if polls := len(w.asked[testURL(1)]) - before; polls < 3 || polls > 6 {
			t.Errorf("%d polls in 5 minutes after a restart, each of whose answers is fresh for one", polls)
		}
	})
}

// A channel whose answers come from a cache on the way, nearly stale, is polled as often
// as its rate and floor say once the rest of their freshness is over, and the owner plans
// with that; one that comes fresh is not.
func TestAgedAnswersArePolledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		w.origins[testURL(1)] = &origin{status: 200, body: "aged", etag: "a", maxAge: 100 * time.Second, age: 90 * time.Second}
		w.origins[testURL(2)] = &origin{status: 200, body: "fresh", etag: "f", maxAge: 100 * time.Second}
		w.engine.Order(*testOrder(1, 0), *testOrder(2, 0))
		w.pass(400 * time.Second)
		bounds := map[string]bool{}
		for _, e := range w.drain() {
			if strings.HasPrefix(e.text, "bound") {
				bounds[e.name+" "+e.text] = true
			}
		}
		if aged, fresh := len(w.asked[testURL(1)]), len(w.asked[testURL(2)]); aged < 15 || aged > 40 || fresh < 3 || fresh > 5 {
			t.Errorf("polled %d times where 10 s of freshness remain, %d times where 100 do", aged, fresh)
		}
		for bound := range bounds {
			if strings.HasPrefix(bound, nameOf(testURL(1))+" ") && strings.Contains(bound, "1m40s") {
				t.Errorf("the owner plans with %q", bound)
			}
		}
	})
}
