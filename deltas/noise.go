package deltas

import (
	"regexp"
	"strings"
)

// mask stands where something was that changes by itself.
const mask = "…"

var (
	relativeTime = regexp.MustCompile(`(?i)\b(?:\d+|an?|one|few|a few) (?:sec(?:ond)?|min(?:ute)?|h(?:ou)?r|day|week|month|year)s? ago\b`)
	// A clock time behind words that say when the page was made, not what it says.
	buildStamp = regexp.MustCompile(`(?i)\b(last[ -]?(?:updated?|modified|scraped?|refresh(?:ed)?|checked|generated|built|build|synced)|` +
		`(?:page|site|feed|list|file|report)? ?(?:generated|rendered|scraped|retrieved|refreshed))((?: (?:on|at|in|date|time))*:? ?)` +
		`((?:[\d.,:/+-]|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|` +
		`\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|` +
		`\b\d+(?:st|nd|rd|th)\b|\d[tz]\d|\dz\b|\b(?:[ap]\.?m\.?|utc|gmt|[ecmp][sd]t|z|at|seconds?|ms|s)\b| )*\d[\w:.,+ ()/-]*)`)
)

// maskTimes replaces relative times ("3 hours ago") and build stamps ("last
// updated: …") in a line. Other dates and digits may be the news and stay.
func maskTimes(line string) string {
	if strings.Contains(line, " ago") {
		line = relativeTime.ReplaceAllString(line, mask+" ago")
	}
	if len(line) <= 200 && strings.ContainsAny(line, "0123456789") && hasStampWord(line) {
		line = buildStamp.ReplaceAllString(line, "$1$2"+mask)
	}
	return line
}

// hasStampWord keeps the expression away from nearly every line.
func hasStampWord(line string) bool {
	lower := strings.ToLower(line)
	for _, word := range [...]string{"last", "generated", "rendered", "scraped", "retrieved", "refreshed"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}
