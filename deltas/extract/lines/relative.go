package lines

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// Mask stands where something was that changes by itself.
const Mask = "…"

// longAgo is what relative times are masked by.
const longAgo = Mask + " ago"

// maskTimes replaces how long ago something was ("2 hours, 5 minutes ago", "just
// now") in a line, which changes at every look by itself. Other dates and digits
// may be the news and stay.
func maskTimes(line string) string {
	if strings.Contains(line, " ago") {
		line = maskBefore(line, " ago")
	}
	if strings.Contains(line, "ust now") {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "just now", longAgo), "Just now", longAgo)
	}
	return line
}

var (
	timeUnits = scan.Set("s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "week", "month", "mo", "year", "yr", "moment")
	fewWords  = scan.Set("a", "an", "one", "few")
	// hedges may stand before a time.
	hedges = scan.Set("about", "almost", "around", "nearly", "over", "a", "than", "less", "more")
)

// maskBefore masks the times that stand before ago.
func maskBefore(line, ago string) string {
	var b strings.Builder
	for {
		at := strings.Index(line, ago)
		if at < 0 {
			break
		}
		end := at + len(ago)
		if head, ok := cutSpan(line[:at]); ok && !continuesWord(line[end:]) {
			b.WriteString(head + Mask + ago)
		} else {
			b.WriteString(line[:end])
		}
		line = line[end:]
	}
	b.WriteString(line)
	return b.String()
}

// cutSpan cuts a time off the end of s: "3 hours", "about an hour", "1h 5m".
func cutSpan(s string) (string, bool) {
	rest, ok := cutCount(s)
	if !ok {
		return "", false
	}
	for ok {
		s = rest
		rest, ok = cutCount(strings.TrimSuffix(strings.TrimRight(s, " ,"), " and"))
	}
	for {
		rest, word := cutLastWord(strings.TrimSuffix(s, " "))
		if !hedges[strings.ToLower(word)] {
			return s, true
		}
		s = rest
	}
}

// cutCount cuts a count and a unit of time off the end of s.
func cutCount(s string) (string, bool) {
	rest, unit := cutLastWord(s)
	if n := strings.LastIndexAny(unit, "0123456789") + 1; n > 0 {
		count := strings.TrimRight(unit[:n], "0123456789")
		return rest + count, isUnit(unit[n:]) && (count == "" || count[len(count)-1] >= 0x80)
	}
	switch {
	case strings.EqualFold(unit, "moments"):
		return rest, true
	case !isUnit(unit):
		return "", false
	}
	rest, n := cutLastWord(strings.TrimSuffix(rest, " "))
	return rest, isCount(n)
}

func isUnit(word string) bool {
	word = strings.ToLower(word)
	return timeUnits[word] || timeUnits[strings.TrimSuffix(word, "s")]
}

func isCount(word string) bool {
	return word != "" && (fewWords[strings.ToLower(word)] || strings.Trim(word, "0123456789") == "")
}

// cutLastWord cuts the letters and digits off the end of s.
func cutLastWord(s string) (rest, word string) {
	i := len(s)
	for i > 0 && scan.IsWordByte(s[i-1]) {
		i--
	}
	return s[:i], s[i:]
}

func continuesWord(s string) bool { return s != "" && scan.IsWordByte(s[0]) }
