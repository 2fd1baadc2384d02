package deltas

import (
	"strings"
	"unicode"
)

// mask stands where something was that changes by itself.
const mask = "…"

// maxStampLine is the length in bytes of the longest line that is taken for a
// build stamp and not for prose that speaks of dates.
const maxStampLine = 200

// maskTimes replaces relative times ("3 hours ago") and build stamps ("last
// updated: …") in a line. Other dates and digits may be the news and stay.
func maskTimes(line string) string {
	if strings.Contains(line, " ago") {
		line = maskRelative(line)
	}
	if len(line) <= maxStampLine && strings.ContainsAny(line, "0123456789") {
		line = maskStamp(line)
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

var (
	// What is said of the page itself, alone or behind "last".
	stampWords     = set("generated", "rendered", "scraped", "retrieved", "refreshed")
	lastStampWords = set("update", "updated", "modified", "scrape", "scraped", "refresh", "refreshed", "checked", "generated",
		"build", "built", "synced", "change", "changed")
	dateWords = set("jan", "january", "feb", "february", "mar", "march", "apr", "april", "may", "jun", "june", "jul", "july",
		"aug", "august", "sep", "sept", "september", "oct", "october", "nov", "november", "dec", "december",
		"mon", "monday", "tue", "tues", "tuesday", "wed", "wednesday", "thu", "thurs", "thursday", "fri", "friday",
		"sat", "saturday", "sun", "sunday", "am", "pm", "a.m", "p.m", "utc", "gmt", "est", "edt", "cst", "cdt", "mst", "mdt",
		"pst", "pdt", "cet", "cest", "bst", "z", "at", "seconds", "second", "ms", "s")
	stampGlue = set("on", "at", "in", "date", "time")
)

// maskStamp replaces the date and time behind words that say when the page was
// made.
func maskStamp(line string) string {
	words := strings.SplitAfter(line, " ")
	from := stampEnd(words)
	if from < 0 {
		return line
	}
	first, last, digits := -1, -1, false
	for i := from; i < len(words); i++ {
		word := bareWord(words[i])
		hasDigit := strings.ContainsAny(word, "0123456789")
		if word == "" || first < 0 && stampGlue[word] {
			continue
		}
		if !hasDigit && !dateWords[word] {
			break
		}
		if first < 0 {
			first = i
		}
		last, digits = i, digits || hasDigit
	}
	if !digits {
		return line
	}
	tail := strings.Join(words[last+1:], "")
	if tail != "" {
		tail = " " + tail
	}
	return strings.Join(words[:first], "") + mask + tail
}

// stampEnd returns the index behind the words that announce a build stamp, -1 if
// there are none.
func stampEnd(words []string) int {
	for i, word := range words {
		word = bareWord(word)
		if stampWords[word] {
			return i + 1
		}
		if word == "last" && i+1 < len(words) && lastStampWords[bareWord(words[i+1])] {
			return i + 2
		}
	}
	return -1
}

// bareWord returns a word in lower case without what stands around it.
func bareWord(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}
