package timespan

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for d, want := range map[time.Duration]string{
		0: "0 s", 1: "1 ns", 999: "999 ns", 1500: "1.5 µs", 24_630 * time.Microsecond: "24.6 ms", 300 * time.Millisecond: "300 ms",
		999_400 * time.Microsecond: "999 ms", 999_600 * time.Microsecond: "1 s",
		s: "1 s", 2500 * time.Millisecond: "2.5 s", 9020 * time.Millisecond: "9.02 s", 53_210 * time.Millisecond: "53.2 s", 59_940 * time.Millisecond: "59.9 s",
		59_960 * time.Millisecond: "1 min", m: "1 min", 150 * s: "2 min 30 s", 7*m + 51_600*time.Millisecond: "7 min 52 s", 30 * m: "30 min",
		h - 400*time.Millisecond: "1 h", h: "1 h", 90 * m: "1 h 30 min", h + 29*s: "1 h", h + 31*s: "1 h 1 min",
		day - 20*s: "1 d", day: "1 d", 34 * h: "1 d 10 h", 7 * day: "7 d", 400 * day: "400 d",
		-150 * s: "-2 min 30 s", math.MinInt64: "-106751 d 23 h", math.MaxInt64: "106751 d 23 h",
	} {
		if got := Text(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 0.3: "300 ms", 150: "2 min 30 s", -1.5: "-1.5 s", 471.6: "7 min 52 s",
		1e-12: "1e-12 s", 1e12: "1.16e+07 d", math.Inf(1): "+Inf d",
	} {
		if got := Seconds(s); got != want {
			t.Errorf("%v s are %q, want %q", s, got, want)
		}
	}
	if got := Seconds(math.NaN()); got != "NaN d" {
		t.Errorf("no number is %q", got)
	}
}

// A setting reads as what it was written from.
func TestSetting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 300 * time.Millisecond: "300ms", 90 * time.Second: "1m30s", 30 * time.Minute: "30m", time.Hour: "1h",
		day: "24h", time.Hour + time.Second: "1h0m1s", 90 * time.Minute: "1h30m",
	} {
		if got := Setting(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "span"))
		if got, err := time.ParseDuration(Setting(d)); err != nil || got != d {
			t.Fatalf("%d ns are written %q, which reads %d, %v", d, Setting(d), got, err)
		}
	})
}
