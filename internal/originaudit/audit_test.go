package originaudit

import (
	"slices"
	"testing"
	"time"
)

const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

// A trialCase is a log and what is wrong with it; nothing if wrong is empty.
type trialCase struct {
	name  string
	wrong Kind
	log   []Exchange
}

func requestCases() []trialCase {
	one := func(name string, wrong Kind, lines ...line) trialCase {
		return trialCase{name, wrong, []Exchange{ask(0, lines...)}}
	}
	head := func(e *Exchange) { e.Method = "HEAD" }
	old := func(e *Exchange) { e.Proto = "HTTP/1.0" }
	return []trialCase{
		one("honest", ""),
		one("without subscribers", "", field("User-Agent", "Corona/v1.2-3-gab (+https://example.org/us)")),
		one("a mailbox as contact", Agent, field("User-Agent", "Corona/1 (us@example.org)")), // not the one of the policy
		one("HEAD", Method, head),
		one("HTTP/1.0", Protocol, old),
		one("no Host", Protocol, without("Host")),
		one("two Hosts", Protocol, more("Host", "h")),
		one("another Host", Protocol, field("Host", "other")),
		one("no User-Agent", Agent, without("User-Agent")),
		one("two User-Agents", Agent, more("User-Agent", "Corona/1.2 (+https://example.org/us)")),
		one("no version", Agent, field("User-Agent", "Corona (+https://example.org/us)")),
		one("no contact", Agent, field("User-Agent", "Corona/1.2")),
		one("the library's name", Agent, field("User-Agent", "Go-http-client/1.1 (+https://example.org/us)")),
		one("a browser's name", Agent, field("User-Agent", "Mozilla/5.0 (compatible; Corona/1.2; +https://example.org/us)")),
		one("no Accept-Encoding", Encoding, without("Accept-Encoding")),
		one("gzip refused", Encoding, field("Accept-Encoding", "br, gzip; q=0.0")),
		one("gzip weighted", "", field("Accept-Encoding", "br;q=1, gzip;q=0.5")),
		one("a cookie", Cookie, field("Cookie", "a=b")),
		one("a referer", Referer, field("Referer", "http://h/")),
		one("no-cache", NeedlessField, field("Cache-Control", "no-cache")),
		one("a body", NeedlessField, field("Content-Length", "0")),
		one("A-IM", "", field("A-IM", "feed")),
		one("a guess", Unpublished, target("/robots.txt")),
		{"a guess that a redirect names", "", []Exchange{ask(0, status(302, "Location", "/robots.txt")), ask(2, target("/robots.txt"))}},
	}
}

func validatorCases() []trialCase {
	const next = 30 * minute
	first := gives(`"a"`, "Sun")
	pair := func(name string, wrong Kind, lines ...line) trialCase {
		return trialCase{name, wrong, []Exchange{ask(0, first), ask(next, lines...)}}
	}
	three := func(name string, wrong Kind, a, b, c Exchange) trialCase {
		return trialCase{name, wrong, []Exchange{a, b, c}}
	}
	second := ask(next, with(`"a"`, "Sun"), gives(`"b"`, "Mon"))
	return []trialCase{
		pair("the pair", "", with(`"a"`, "Sun")),
		pair("nothing", Unconditional),
		pair("the ETag alone", HalfPair, with(`"a"`, "")),
		pair("the date alone", HalfPair, with("", "Sun")),
		pair("the ETag without quotes", Altered, with(`a`, "Sun")),
		pair("another date", Altered, with(`"a"`, "Sunday")),
		pair("the ETag twice", Altered, with(`"a"`, "Sun"), more("If-None-Match", `"a"`)),
		{"invented on first contact", Invented, []Exchange{ask(0, with("", "Sun"))}},
		{"a date invented beside the ETag", Invented, []Exchange{ask(0, status(200, "ETag", `"a"`)), ask(next, with(`"a"`, "Sun"))}},
		{"the ETag alone, as given", "", []Exchange{ask(0, status(200, "ETag", `"a"`)), ask(next, with(`"a"`, ""))}},
		three("the latest", "", ask(0, first), second, ask(2*next, with(`"b"`, "Mon"))),
		three("the first, after another", Stale, ask(0, first), second, ask(2*next, with(`"a"`, "Sun"))),
		three("half of each", MixedPair, ask(0, first), second, ask(2*next, with(`"b"`, "Sun"))),
		three("a latest answer without any", Stale, ask(0, first), ask(next, with(`"a"`, "Sun")), ask(2*next, with(`"a"`, "Sun"))),
		three("kept over an error", "", ask(0, first), ask(next, with(`"a"`, "Sun"), status(500)), ask(2*next, with(`"a"`, "Sun"))),
		three("forgotten after an error", Unconditional, ask(0, first), ask(next, with(`"a"`, "Sun"), status(500)), ask(2*next)),
		three("kept over a 304", "", ask(0, first), ask(next, with(`"a"`, "Sun"), status(304, "ETag", `"a"`)), ask(2*next, with(`"a"`, "Sun"))),
		three("a date that a 304 renews", "", ask(0, first), ask(next, with(`"a"`, "Sun"), status(304, "Last-Modified", "Tue")), ask(2*next, with(`"a"`, "Tue"))),
		three("not renewed", Stale, ask(0, first), ask(next, with(`"a"`, "Sun"), status(304, "Last-Modified", "Tue")), ask(2*next, with(`"a"`, "Sun"))),
		three("a 304 of another ETag", "", ask(0, first), ask(next, with(`"a"`, "Sun"), status(304, "ETag", `"c"`, "Last-Modified", "Tue")), ask(2*next, with(`"a"`, "Sun"))),
		three("an error page is not taken", "", ask(0, first), ask(next, with(`"a"`, "Sun"), gives(`"e"`, ""), doubtful), ask(2*next, with(`"a"`, "Sun"))),
		three("an error page is taken", "", ask(0, first), ask(next, with(`"a"`, "Sun"), gives(`"e"`, ""), doubtful), ask(2*next, with(`"e"`, ""))),
		three("all forgotten after an error page", Unconditional, ask(0, first), ask(next, with(`"a"`, "Sun"), gives(`"e"`, ""), doubtful), ask(2*next)),
		{"of another URL", Invented, []Exchange{ask(0, first), ask(next, target("/other"), with(`"a"`, "Sun"))}},
	}
}

// Validators along redirects belong to the URL that gave them.
func hopCases() []trialCase {
	const next = 30 * minute
	to := func(url string) line { return status(302, "Location", url) }
	first := []Exchange{ask(0, to("http://b/1")), ask(1, onHost("b"), target("/1"), gives(`"a"`, ""))}
	then := func(name string, wrong Kind, log ...Exchange) trialCase {
		return trialCase{name, wrong, append(slices.Clone(first), log...)}
	}
	return []trialCase{
		then("where they belong", "", ask(next, to("http://b/1")), ask(next+1, onHost("b"), target("/1"), with(`"a"`, ""))),
		then("to who redirects", Invented, ask(next, to("http://b/1"), with(`"a"`, ""))),
		then("forgotten at the target", Unconditional, ask(next, to("http://b/1")), ask(next+1, onHost("b"), target("/1"))),
		then("to another target", Invented, ask(next, to("http://b/2")), ask(next+1, onHost("b"), target("/2"), with(`"a"`, ""))),
		then("back after another target", "", ask(next, to("http://b/2")), ask(next+1, onHost("b"), target("/2"), gives(`"c"`, "")),
			ask(2*next, to("http://b/1")), ask(2*next+1, onHost("b"), target("/1"))),
		then("after a page elsewhere that may be content", "", ask(next, to("http://b/2")), ask(next+1, onHost("b"), target("/2"), doubtful),
			ask(2*next, to("http://b/1")), ask(2*next+1, onHost("b"), target("/1"))),
		then("learned at last", "", ask(next, onHost("b"), target("/1"), with(`"a"`, ""))),
		then("two channels, one target", "", ask(2, target("/2"), to("http://b/1")), ask(3, onHost("b"), target("/1"), gives(`"a"`, ""))),
		then("at its root's pace, whatever the hop waited for", "", ask(5*minute, to("http://b/1")), ask(5*minute+0.5, onHost("b"), target("/1"), with(`"a"`, ""))),
	}
}

func paceCases() []trialCase {
	other := target("/other")
	long := []line{takes(10)}
	return []trialCase{
		{"at the floor", "", every(0, 5*minute, 4)},
		{"under the floor", Floor, every(0, 4*minute, 2)},
		{"sent again after a dead connection", "", []Exchange{ask(0, swallowed), ask(1.5)}},
		{"sent again after a reset of a new connection", Floor, []Exchange{ask(0, swallowed, func(e *Exchange) { e.Reused = false }), ask(1.5)}},
		{"at the gap", "", []Exchange{ask(0), ask(0.5, other)}},
		{"under the gap", Gap, []Exchange{ask(0), ask(0.3, other)}},
		{"another host", "", []Exchange{ask(0), ask(0.1, onHost("g"))}},
		{"two at a time", "", []Exchange{ask(0, long...), ask(2, append(long, other)...)}},
		{"three at a time", Parallel, []Exchange{ask(0, long...), ask(2, append(long, other)...), ask(4, target("/third"))}},
		{"three, and one does not end", Parallel, []Exchange{ask(0, takes(-1)), ask(2, append(long, other)...), ask(4, target("/third"))}},
		{"closer after a refusal", Gap, []Exchange{ask(0, status(429, "Retry-After", "20")), ask(21, other, status(500)), ask(21.7, target("/b"))}},
		{"failing, and slower", "", append(every(0, 30*minute, 6, status(500)), ask(4*hour))},
		{"failing, and as often as ever", Unrelieved, every(0, 30*minute, 7, status(500))},
		{"not found, and as often as ever", Unrelieved, every(0, 30*minute, 7, status(404))},
		{"failing now and then", "", append(every(0, 30*minute, 5, status(500)), every(150*minute, 30*minute, 4)...)},
		{"a start that spreads", "", append(pages(0, 100), pages(30*minute, 10)...)},
		{"a start that asks for everything", Stampede, append(pages(0, 100), pages(30*minute, 100)...)},
	}
}

func restCases() []trialCase {
	const next = 30 * minute
	other := target("/other")
	rests := func(name string, wrong Kind, at float64, answer ...line) trialCase {
		return trialCase{name, wrong, []Exchange{ask(0, answer...), ask(at, other)}}
	}
	imf, rfc850, asctime := after(600).Format(DateIMF), after(600).Format(DateRFC850), after(600).Format(DateAsctime)
	return []trialCase{
		rests("429, over", "", 601, status(429, "Retry-After", "600")),
		rests("429, not over", Resting, 599, status(429, "Retry-After", "600")),
		rests("429, already under way", "", 0.55, status(429, "Retry-After", "600"), takes(0.5)),
		rests("429 until a date", Resting, 598, status(429, "Retry-After", imf)),
		rests("429 until a date, over", "", 601, status(429, "Retry-After", imf)),
		rests("429 until a date of 1994", Resting, 598, status(429, "Retry-After", rfc850)),
		rests("429 until a date of C", Resting, 598, status(429, "Retry-After", asctime)),
		rests("429 by a clock that is an hour ahead", Resting, 598, status(429, "Retry-After", date(4200), "Date", date(3600))),
		rests("bare 429, not over", Resting, next-10, status(429)),
		rests("bare 429, over", "", next+1, status(429)),
		rests("429 for no time", Resting, next-10, status(429, "Retry-After", "0")),
		rests("429 for less", Resting, next-10, status(429, "Retry-After", "-1")),
		rests("429 for ever, a day later", "", day+1, status(429, "Retry-After", "1000000000000")),
		rests("429 for ever, within a day", Resting, day-10, status(429, "Retry-After", "1000000000000")),
		rests("503", Resting, 599, status(503, "Retry-After", "600")),
		rests("bare 503", "", 10, status(503)),
		rests("403", Resting, 599, status(403, "Retry-After", "600")),
		rests("bare 403", "", 10, status(403)),
		rests("500 with Retry-After", "", 10, status(500, "Retry-After", "600")),
		{"503 of one shaky route", "", []Exchange{ask(0, status(503, "Retry-After", "600")), ask(700, other), ask(1300, status(503, "Retry-After", "600")), ask(1310, other)}},
		{"503 of that route itself", Resting, []Exchange{ask(0, status(503, "Retry-After", "600")), ask(700, other), ask(1300, status(503, "Retry-After", "600")), ask(1800)}},
		{"503 of two routes", Resting, []Exchange{ask(0, status(503, "Retry-After", "600")), ask(700, other, status(503, "Retry-After", "600")), ask(1290, target("/third"))}},
		{"a hop to a host that rests", Resting, []Exchange{ask(0, status(429, "Retry-After", "600")), ask(10, onHost("g"), status(302, "Location", "http://h/x")), ask(11, target("/x"))}},
	}
}

func wordCases() []trialCase {
	fresh := func(name string, wrong Kind, at float64, answer ...line) trialCase {
		return trialCase{name, wrong, []Exchange{ask(0, answer...), ask(at)}}
	}
	late := hints(Hints{SkipHours: []int{13, 14}})
	monday := hints(Hints{SkipDays: []time.Weekday{time.Monday}})
	all := hints(Hints{SkipDays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}})
	away := "http://g/feed"
	var moved []Exchange
	for _, at := range []float64{0, 10 * day, 21*day + hour} {
		moved = append(moved, ask(at, status(301, "Location", away)), ask(at+1, onHost("g"), takes(0.1)))
	}
	return []trialCase{
		fresh("max-age over", "", 601, status(200, "Cache-Control", "public, max-age=600")),
		fresh("within max-age", Fresh, 599, status(200, "Cache-Control", "public, max-age=600")),
		fresh("max-age less age", "", 501, status(200, "Cache-Control", "max-age=600", "Age", "100")),
		fresh("for others alone", "", 301, status(200, "Cache-Control", "s-maxage=600")),
		fresh("no-cache", "", 301, status(200, "Cache-Control", "no-cache, max-age=600")),
		fresh("max-age of a year, a day later", "", day+1, status(200, "Cache-Control", "max-age=31536000")),
		fresh("before Expires", Fresh, 598, status(200, "Expires", date(600))),
		fresh("max-age before Expires", "", 400, status(200, "Expires", date(600), "Cache-Control", "max-age=300")),
		fresh("of an error", "", 301, status(500, "Cache-Control", "max-age=600")),
		{"of a 304", Fresh, []Exchange{ask(0), ask(600, status(304, "Cache-Control", "max-age=600")), ask(1190)}},
		fresh("ttl over", "", hour+1, hints(Hints{Every: time.Hour})),
		fresh("within ttl", Period, hour-10, hints(Hints{Every: time.Hour})),
		fresh("ttl of a year", "", day+1, hints(Hints{Every: 365 * 24 * time.Hour})),
		{"ttl after a 304", Period, []Exchange{ask(0, hints(Hints{Every: time.Hour})), ask(hour+1, status(304)), ask(2 * hour)}},
		fresh("in a skipped hour", Skip, 1.5*hour, late),
		fresh("after skipped hours", "", 3*hour+10, late),
		fresh("on a skipped day", Skip, day, monday),
		fresh("every day skipped", "", day, all),
		fresh("410", Gone, 30*minute, status(410)),
		{"410 of another URL", "", []Exchange{ask(0, status(410)), ask(2, target("/other"))}},
		{"never learned", Moved, moved},
		{"not yet learned", "", moved[:4]},
		{"its target fails", "", []Exchange{ask(0, status(308, "Location", away)), ask(1, onHost("g"), status(500)), ask(22*day, status(308, "Location", away))}},
		{"for now", "", []Exchange{ask(0, status(302, "Location", away)), ask(1, onHost("g")), ask(22*day, status(302, "Location", away))}},
	}
}

// Every rule finds what it is about and nothing else, and correct logs pass.
func TestJudge(t *testing.T) {
	found := make(map[Kind]bool)
	for _, group := range [][]trialCase{requestCases(), validatorCases(), hopCases(), paceCases(), restCases(), wordCases()} {
		for _, test := range group {
			t.Run(test.name, func(t *testing.T) {
				p := policy()
				p.Starts = []time.Time{after(30 * minute)}
				violations := Audit(test.log, p)
				kinds := kindsOf(violations)
				if test.wrong == "" && len(violations) > 0 || test.wrong != "" && !slices.Equal(kinds, []Kind{test.wrong}) {
					t.Errorf("found %v, want %q", violations, test.wrong)
				}
				found[test.wrong] = true
				reversed := slices.Clone(test.log)
				slices.Reverse(reversed)
				if again := Audit(reversed, p); !slices.Equal(again, violations) {
					t.Errorf("in another order: %v", again)
				}
			})
		}
	}
	for _, kind := range Kinds {
		if !found[kind] {
			t.Errorf("no log breaks %q", kind)
		}
	}
}

func kindsOf(violations []Violation) (kinds []Kind) {
	for _, v := range violations {
		kinds = append(kinds, v.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// What was answered right before a kill may be lost, and nothing else.
func TestJudgeKills(t *testing.T) {
	const next = 30 * minute
	first := ask(0, gives(`"a"`, ""))
	changed := ask(next, with(`"a"`, ""), gives(`"b"`, ""))
	tests := []struct {
		name  string
		kill  float64
		wrong Kind
		log   []Exchange
	}{
		{"the pair before", next + 5, "", []Exchange{first, changed, ask(2*next, with(`"a"`, ""))}},
		{"the new pair", next + 5, "", []Exchange{first, changed, ask(2*next, with(`"b"`, ""))}},
		{"no pair", next + 5, "", []Exchange{first, changed, ask(2 * next)}},
		{"an altered pair", next + 5, Altered, []Exchange{first, changed, ask(2*next, with(`b`, ""))}},
		{"no pair, long after", next + 60, Unconditional, []Exchange{first, changed, ask(2 * next)}},
		{"floors hold", 60, Floor, []Exchange{ask(0), ask(2 * minute)}},
		{"hosts rest", 60, Resting, []Exchange{ask(0, status(429, "Retry-After", "600")), ask(5*minute, target("/other"))}},
		{"a host that may not have been heard", 0.05, "", []Exchange{ask(0, status(429, "Retry-After", "600")), ask(5*minute, target("/other"))}},
		{"a failure that the reader did not live to see", 150*minute + 5, "", append(append(every(0, 30*minute, 5, status(500)), ask(150*minute, takes(20), status(0))), ask(180*minute))},
		{"what was under way has ended", 5, "", []Exchange{ask(0, takes(-1)), ask(2, takes(-1), target("/b")), ask(10, takes(-1), target("/c")), ask(12, target("/d"))}},
		{"what is under way again", 5, Parallel, []Exchange{ask(0, takes(-1)), ask(8, takes(-1), target("/b")), ask(10, takes(-1), target("/c")), ask(12, target("/d"))}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := policy()
			p.Kills = []time.Time{after(test.kill)}
			violations := Audit(test.log, p)
			if test.wrong == "" && len(violations) > 0 || test.wrong != "" && !slices.Equal(kindsOf(violations), []Kind{test.wrong}) {
				t.Errorf("found %v, want %q", violations, test.wrong)
			}
		})
	}
}
