package loadgen

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestDaily(t *testing.T) {
	if newsDay.ends[24] != day {
		t.Fatalf("a day of %s", newsDay.ends[24])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		at := time.Duration(random.Int64N(int64(10*day))) - 5*day
		straight := newsDay.straight(at)
		if newsDay.bend(straight) < at || newsDay.bend(straight-1) >= at {
			t.Fatalf("%d is first reached at %d, and there it is %d, and just before %d", at, straight, newsDay.bend(straight), newsDay.bend(straight-1))
		}
	}
	for _, whole := range []time.Duration{-day, 0, day, 7 * day} {
		if newsDay.bend(whole) != whole || newsDay.straight(whole) != whole {
			t.Errorf("%s is bent to %s", whole, newsDay.bend(whole))
		}
	}
}

// A schedule by hour of day has as many changes a day as the one that it is made of, four
// times as many by day as by night, and tells when each happened.
func TestDailyOrigin(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	o, err := NewOrigin(Config{Channels: 50, Speedup: 60, Daily: true, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	at := func(hours float64) time.Time { return start.Add(time.Duration(hours * float64(time.Minute))) }
	night, noon, plain := int64(0), int64(0), int64(0)
	for n := range 50 {
		for d := range 20 {
			morning := float64(24 * d)
			night += o.Revision(n, at(morning+5)) - o.Revision(n, at(morning+1))
			noon += o.Revision(n, at(morning+13)) - o.Revision(n, at(morning+9))
		}
		whole := o.Revision(n, at(480)) - 1
		plain += whole - (o.content.Revision(n, 480*time.Hour) - 1)
		for revision := int64(2); revision <= min(whole, 30); revision++ {
			changed := o.ChangedAt(n, revision)
			if o.Revision(n, changed) < revision || o.Revision(n, changed.Add(-1)) >= revision {
				t.Fatalf("channel %d revision %d did not come at %s", n, revision, changed)
			}
		}
	}
	if plain != 0 || night == 0 || noon < 4*night {
		t.Errorf("%d changes at night, %d at noon, %+d in all", night, noon, plain)
	}
}
