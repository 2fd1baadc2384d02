package deltas

import "strings"

// mask stands where something was that changes by itself.
const mask = "…"

// maskTimes replaces relative times ("3 hours ago") in a line, which change at
// every look by themselves. Other dates and digits may be the news and stay.
func maskTimes(line string) string {
	if strings.Contains(line, " ago") {
		line = maskRelative(line)
	}
	return line
}

var (
	timeUnits = set("s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "week", "month", "mo", "year", "yr")
	fewWords  = set("a", "an", "one", "few")
)

// maskRelative replaces the counts in "3 hours ago" and "an hour ago".
func maskRelative(line string) string {
	var b strings.Builder
	for {
		at := strings.Index(line, " ago")
		if at < 0 {
			break
		}
		if head, ok := cutCount(line[:at]); ok && !continuesWord(line[at+len(" ago"):]) {
			b.WriteString(head + mask + " ago")
		} else {
			b.WriteString(line[:at+len(" ago")])
		}
		line = line[at+len(" ago"):]
	}
	b.WriteString(line)
	return b.String()
}

// cutCount cuts a count and a unit of time off the end of s.
func cutCount(s string) (string, bool) {
	rest, unit := cutLastWord(s)
	unit = strings.ToLower(unit)
	if !timeUnits[unit] && !timeUnits[strings.TrimSuffix(unit, "s")] {
		return "", false
	}
	rest, n := cutLastWord(strings.TrimSuffix(rest, " "))
	if !fewWords[strings.ToLower(n)] && strings.Trim(n, "0123456789") != "" || n == "" {
		return "", false
	}
	return rest, true
}

// cutLastWord cuts the letters and digits off the end of s.
func cutLastWord(s string) (rest, word string) {
	i := len(s)
	for i > 0 && isWordByte(s[i-1]) {
		i--
	}
	return s[:i], s[i:]
}

func continuesWord(s string) bool { return s != "" && isWordByte(s[0]) }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
