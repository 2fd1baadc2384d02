package feed

import (
	"strconv"
	"strings"
	"time"

	ext "github.com/mmcdole/gofeed/extensions"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// maxHint is the longest duration that a hint gives.
const maxHint = 100 * 365 * 24 * time.Hour

// hintWords are what hints are made of, as the feed spells them.
type hintWords struct {
	ttl, period, frequency string
	hours, days            []string
}

func (w hintWords) hints() content.Hints {
	h := content.Hints{TTL: times(time.Minute, number(w.ttl)), UpdatePeriod: periods[strings.ToLower(strings.TrimSpace(w.period))]}
	if frequency := number(w.frequency); frequency > 0 {
		h.UpdatePeriod = time.Duration(float64(h.UpdatePeriod) / frequency)
	}
	for _, hour := range w.hours {
		if n, err := strconv.ParseUint(strings.TrimSpace(hour), 10, 8); err == nil && n <= 24 {
			h.SkipHours |= 1 << (n % 24) // RSS 0.91 counts from 1 to 24
		}
	}
	for _, day := range w.days {
		h.SkipDays |= weekday(day)
	}
	return h
}

// syndication adds the words of the syndication module. Names are compared
// without case; the prefix is the module's own, whatever the feed calls it.
func (w *hintWords) syndication(extensions ext.Extensions) {
	for name, values := range extensions["sy"] {
		switch strings.ToLower(name) {
		case "updateperiod":
			w.period = values[0].Value
		case "updatefrequency":
			w.frequency = values[0].Value
		}
	}
}

const day = 24 * time.Hour

// periods are the words of sy:updatePeriod. A frequency without one of them
// says nothing.
var periods = map[string]time.Duration{
	"hourly": time.Hour, "daily": day, "weekly": 7 * day, "monthly": 30 * day, "yearly": 365 * day,
}

// number returns a positive decimal number, infinity where it is too long, and 0
// for anything else.
func number(s string) float64 {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789.") != "" {
		return 0
	}
	n, _ := strconv.ParseFloat(s, 64) // 0 for what is no number, infinity beyond the range
	return n
}

// times returns n units, at most maxHint.
func times(unit time.Duration, n float64) time.Duration {
	return time.Duration(min(float64(unit)*n, float64(maxHint)))
}

// weekday returns the bit of a day, spelled out or cut to three letters and
// more; 0 for what is none.
func weekday(name string) uint8 {
	name = strings.ToLower(strings.TrimSpace(name))
	for d := time.Sunday; d <= time.Saturday; d++ {
		if len(name) >= 3 && strings.HasPrefix(strings.ToLower(d.String()), name) {
			return 1 << d
		}
	}
	return 0
}
