package deltas

import (
	"strings"
	"unicode"
)

// hasStamps reports whether a content holds a build stamp: whether [maskStamp]
// changes any of its lines.
func hasStamps(content string) bool {
	for at := hintEnd(content); at > 0; at = hintEnd(content) {
		begin, rest := strings.LastIndexByte(content[:at], '\n')+1, content[at:]
		after, next, _ := strings.Cut(rest, "\n")
		if line := content[begin : at+len(after)]; maskStamp(line) != line {
			return true
		}
		content = next
	}
	return false
}

// mayStamp reports lines that [maskStamp] is worth asking about.
func mayStamp(line string) bool {
	return len(line) <= maxStampLine && hasDigit(line) && hintEnd(line) > 0
}

// hintEnd returns where the first of [stampHints] ends, in whatever case, 0 if there
// is none. All end in "ed" or "st", which few words do.
func hintEnd(s string) int {
	for n := 0; n+1 < len(s); n += 7 {
		x := eightOf(s[n:]) | 0x20*everyByte
		ends := equal(x, 'e')&(equal(x, 'd')>>8) | equal(x, 's')&(equal(x, 't')>>8)
		for ; ends != 0; ends &= ends - 1 {
			if end := min(n+lowest(ends)+2, len(s)); endsInHint(s[:end]) {
				return end
			}
		}
	}
	return 0
}

// endsHint holds the letters before the last two of [stampHints].
var endsHint = [256]bool{'a': true, 't': true, 'r': true, 'p': true, 'v': true, 'h': true}

// stampHints are in every line that has a stamp, in lower case.
var stampHints = [...]string{"last", "generated", "rendered", "scraped", "retrieved", "refreshed"}

func endsInHint(s string) bool {
	if len(s) < len("last") || !endsHint[s[len(s)-3]|0x20] {
		return false
	}
	for _, hint := range stampHints {
		if len(s) >= len(hint) && strings.EqualFold(s[len(s)-len(hint):], hint) {
			return true
		}
	}
	return false
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

	// What a stamp calls the page that it stands on, and what may stand beside it.
	pageWords = set("page", "webpage", "site", "website")
	pageGlue  = set("this", "the", "our", "was", "is", "were")
)

// maxStampLine is the length in bytes of the longest line that is taken for a
// build stamp and not for prose that speaks of dates.
const maxStampLine = 200

// maskStamp replaces the date and time behind words that say when the page was
// made. A line without a stamp comes back as it is.
func maskStamp(line string) string {
	if !mayStamp(line) {
		return line
	}
	words := strings.SplitAfter(line, " ")
	from := stampEnd(words)
	if from < 0 {
		return line
	}
	first, last, dated := -1, -1, false
	for i := from; i < len(words); i++ {
		word := bareWord(words[i])
		digit := hasDigit(word)
		if word == "" || stampGlue[word] {
			continue
		}
		if !digit && !dateWords[word] {
			break
		}
		if first < 0 {
			first = i
		}
		last, dated = i, dated || digit
	}
	if !dated {
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

// saysPage reports whether a build stamp speaks of nothing but the page itself:
// "Page last updated", but not "Table last updated", which is about the news.
func saysPage(stamp string) bool {
	named := false
	for word := range strings.FieldsSeq(stamp) {
		switch word = bareWord(word); {
		case pageWords[word]:
			named = true
		case word != "" && !pageGlue[word]:
			return named && (word == "last" || stampWords[word])
		}
	}
	return false
}

// bareWord returns a word in lower case without what stands around it.
func bareWord(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}
