// Package timespan writes spans of time: for people as the SI has units, "2 min 30 s",
// and as the settings that they type, "2m30s".
package timespan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// units are what the parts of a text are in, the longest first, and how finely a
// span with such a part is written: in the next unit.
var units = []struct {
	name string
	size time.Duration
	fine time.Duration
}{
	{"d", day, time.Hour},
	{"h", time.Hour, time.Minute},
	{"min", time.Minute, time.Second},
}

// Text returns a span for people: from a minute on in its two largest units, without
// an empty one ("7 min 52 s", "1 d 10 h", "30 min"), below that with three digits
// ("53.2 s", "24.6 ms").
func Text(d time.Duration) string {
	if d < 0 {
		return "-" + Text(-max(d, -math.MaxInt64))
	}
	d = rounded(d)
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.size, u.name)
		if rest := d % u.size / u.fine; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, below(i))
		}
		return text
	}
	return short(d)
}

// rounded returns a span as precisely as it is written. Rounding may lead to the next
// larger unit, of which it is a whole one then.
func rounded(d time.Duration) time.Duration {
	for _, u := range units {
		if d >= u.size {
			return d.Round(u.fine)
		}
	}
	fine := time.Nanosecond
	for d >= 1000*fine {
		fine *= 10
	}
	return d.Round(fine)
}

// below names the unit behind that of a number.
func below(i int) string {
	if i+1 < len(units) {
		return units[i+1].name
	}
	return "s"
}

// short writes a rounded span of less than a minute.
func short(d time.Duration) string {
	name, size := "s", time.Second
	switch {
	case d == 0:
	case d < time.Microsecond:
		name, size = "ns", time.Nanosecond
	case d < time.Millisecond:
		name, size = "µs", time.Microsecond
	case d < time.Second:
		name, size = "ms", time.Millisecond
	}
	return strconv.FormatFloat(float64(d)/float64(size), 'f', -1, 64) + " " + name
}

// Seconds is [Text] of a number of seconds, be it too small or too large for a
// [time.Duration].
func Seconds(s float64) string {
	const most = float64(math.MaxInt64 / int64(time.Second))
	switch size := math.Abs(s); {
	case !(size < most):
		return fmt.Sprintf("%.3g d", s/day.Seconds())
	case size > 0 && size < 1e-9:
		return fmt.Sprintf("%.3g s", s)
	}
	return Text(time.Duration(math.Round(s * float64(time.Second))))
}

// Setting returns a span as [time.ParseDuration] reads it, without empty parts:
// "30m", not "30m0s".
func Setting(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
