package corona_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// validatorBehaviours are about what comes back of what an origin gave: FRB001 to
// FRB014. That it comes back byte for byte, or not at all, the judge sees.
func validatorBehaviours() []behaviour {
	only := func(pair originaudit.Pair) func(int) originaudit.Pair {
		return func(int) originaudit.Pair { return pair }
	}
	feed := func(name string, doc *originaudit.Document) behaviour {
		return behaviour{name: name, enough: statuses("200 304 304"), want: version(1),
			play: func(s stage) []string { return []string{s.doc("/feed", doc)} }}
	}
	return []behaviour{
		feed("FRB001 Last-Modified alone", &originaudit.Document{Pair: only(originaudit.Pair{LastModified: "Sun, 01 Nov 2026 10:00:00 GMT"})}),
		feed("FRB002 a date in another form", &originaudit.Document{Pair: only(originaudit.Pair{LastModified: "Sunday, 1-Nov-26 10:00:00 +0000"})}),
		feed("FRB003 ETag alone", &originaudit.Document{Pair: only(originaudit.Pair{ETag: `"a"`})}),
		feed("FRB004 an ETag with what is easily lost", &originaudit.Document{Pair: only(originaudit.Pair{ETag: `W/"%22a;\b"`})}),
		feed("FRB004 an ETag without quotes", &originaudit.Document{Pair: only(originaudit.Pair{ETag: "a-b"})}),
		feed("FRB010 both, kept from poll to poll", new(originaudit.Document)),
		{
			name: "FRB011 kept over errors and refusals",
			play: func(s stage) []string {
				doc := new(originaudit.Document).Answer
				return []string{s.Play(s.host, "/feed", originaudit.InTurn(doc, originaudit.Status(500), originaudit.Refusal(429, "1"), originaudit.Refusal(503, "1"), doc))}
			},
			enough: statuses("200 500 429 503 304"),
		},
		{
			name: "FRB012 FRB013 nothing is made up",
			play: func(s stage) []string {
				return []string{s.doc("/feed", &originaudit.Document{Pair: only(originaudit.Pair{})})}
			},
			enough: statuses("200 200 200"),
			want:   version(1),
		},
		{name: "FRB014 the pair is one set", play: playChangingPairs, enough: statuses("200 200 200 200 200"), want: version(4)},
	}
}

// playChangingPairs gives both validators with the first content, one each with the
// next two, and none in the end.
func playChangingPairs(s stage) []string {
	pairs := []originaudit.Pair{{ETag: `"a"`, LastModified: "Sun, 01 Nov 2026 10:00:00 GMT"}, {ETag: `"b"`}, {LastModified: "Mon, 02 Nov 2026 10:00:00 GMT"}, {}}
	doc := &originaudit.Document{Pair: func(revision int) originaudit.Pair { return pairs[min(revision, len(pairs)-1)] }}
	return []string{s.Play(s.host, "/feed", func(v originaudit.Visit) originaudit.Answer {
		if v.Number > 0 && v.Number < len(pairs) {
			doc.Grow()
		}
		return doc.Answer(v)
	})}
}

// refusalBehaviours are about hosts that ask for rest: FRB020, FRB021, row 18. Two
// feeds share the host: one is refused, and the other must keep away as well.
func refusalBehaviours() []behaviour {
	refused := func(name string, refusal originaudit.Script, back bool) behaviour {
		b := behaviour{name: name, enough: statuses("200 429")}
		if back {
			b.enough = statuses("200 429 304")
		}
		b.play = func(s stage) []string {
			doc := new(originaudit.Document).Answer
			other := s.doc("/other", new(originaudit.Document))
			return []string{s.Play(s.host, "/feed", originaudit.InTurn(doc, refusal, doc)), other}
		}
		return b
	}
	with := func(b behaviour, status string) behaviour {
		b.enough = statuses("200 " + status + " 304")
		return b
	}
	const wait = 5 * time.Second
	return []behaviour{
		refused("FRB020 Retry-After in seconds", originaudit.Refusal(429, "5"), true),
		refused("FRB020 Retry-After as a date", originaudit.RefusalUntil(429, originaudit.DateIMF, wait), true),
		refused("FRB020 Retry-After as a date of RFC 850", originaudit.RefusalUntil(429, originaudit.DateRFC850, wait), true),
		refused("FRB020 Retry-After as a date of asctime", originaudit.RefusalUntil(429, originaudit.DateAsctime, wait), true),
		refused("FRB021 a bare 429", originaudit.Refusal(429, ""), true),
		{name: "FRB021 a bare 503", play: playBare503, enough: statuses("200 503 503 503 304"), want: slower},
		refused("row 18 429 for no time", originaudit.Refusal(429, "0"), true),
		refused("row 18 429 for less than no time", originaudit.Refusal(429, "-1"), true),
		refused("row 18 429 for ever", originaudit.Refusal(429, "1000000000000"), false),
		with(refused("row 18 503 with Retry-After", originaudit.Refusal(503, "5"), true), "503"),
		with(refused("row 18 403 with Retry-After", originaudit.Refusal(403, "5"), true), "403"),
	}
}

func playBare503(s stage) []string {
	doc := new(originaudit.Document).Answer
	return []string{s.Play(s.host, "/feed", originaudit.InTurn(doc, originaudit.Status(503), originaudit.Status(503), originaudit.Status(503), doc))}
}

// slower wants the poll after three failures, three slots later where the third was in
// time, to leave out the next slot at least.
func slower(r *rig, urls []string) error {
	log := r.origin.Log().Of(urls[0])
	if waited := log[4].Arrived.Sub(log[3].Arrived); waited < rigInterval+rigSlack {
		return fmt.Errorf("asked again %s after the third 503 in a row; want %s", waited, 3*rigInterval)
	}
	return nil
}

// wordBehaviours are about an origin's words on when to ask: FRB022 to FRB024.
func wordBehaviours() []behaviour {
	with := func(name, value string) *originaudit.Document {
		return &originaudit.Document{Fields: originaudit.Fields{{Name: name, Value: value}}}
	}
	fresh := func(name string, doc *originaudit.Document) behaviour {
		return behaviour{name: name, enough: statuses("200 304 304"), play: func(s stage) []string { return []string{s.doc("/feed", doc)} }}
	}
	// A minute, an hour and a day are longer than the test: one poll, and no more.
	once := func(name string, hints originaudit.Hints) behaviour {
		return behaviour{name: name, enough: statuses("200"), want: askedOnce,
			play: func(s stage) []string { return []string{s.doc("/feed", &originaudit.Document{Hints: hints})} }}
	}
	now := time.Now().UTC()
	soon := now.Add(time.Hour)
	return []behaviour{
		fresh("FRB022 max-age", with("Cache-Control", "private, max-age=5")),
		fresh("FRB022 max-age less Age", &originaudit.Document{Fields: originaudit.Fields{{Name: "Cache-Control", Value: "max-age=5"}, {Name: "Age", Value: "2"}}}),
		fresh("FRB022 s-maxage is for others", with("Cache-Control", "s-maxage=3600")),
		{name: "FRB022 Expires", enough: statuses("200 304 304"), play: func(s stage) []string {
			doc := new(originaudit.Document)
			return []string{s.Play(s.host, "/feed", func(v originaudit.Visit) originaudit.Answer {
				answer := doc.Answer(v)
				answer.Fields = append(answer.Fields, originaudit.Field{Name: "Expires", Value: time.Now().Add(5 * time.Second).UTC().Format(originaudit.DateIMF)})
				return answer
			})}
		}},
		once("FRB024 ttl", originaudit.Hints{Every: time.Minute}),
		once("FRB024 skipHours", originaudit.Hints{SkipHours: []int{now.Hour(), soon.Hour()}}),
		once("FRB024 skipDays", originaudit.Hints{SkipDays: slices.Compact([]time.Weekday{now.Weekday(), soon.Weekday()})}),
	}
}

func askedOnce(r *rig, urls []string) error {
	if asked := len(r.origin.Log().Of(urls[0])); asked != 1 {
		return fmt.Errorf("asked for %d times in %s, want once", asked, time.Since(r.began))
	}
	return nil
}

// paceBehaviours are about how often and what is asked: FRB030 to FRB061. Cookies,
// HEAD, User-Agent and the like (FRB050, FRB051, FRB070 to FRB090) are judged in
// every request of every behaviour.
func paceBehaviours() []behaviour {
	return []behaviour{
		{name: "FRB030 no more often than the interval", want: noMoreOften, play: func(s stage) []string {
			return []string{s.doc("/feed", new(originaudit.Document))}
		}},
		{name: "FRB040 forty feeds after a start", play: func(s stage) (urls []string) {
			for n := range 40 {
				urls = append(urls, s.doc(fmt.Sprintf("/feed/%d", n), new(originaudit.Document)))
			}
			return urls
		}},
		{name: "FRB060 URLs are as they were given", play: func(s stage) []string {
			return []string{s.doc("/feed;v=2/?b=%2F&a=1&&x=~*", new(originaudit.Document)), s.doc("/feed/", new(originaudit.Document)), s.doc("/feed", new(originaudit.Document))}
		}},
		{name: "FRB061 nothing is guessed", play: func(s stage) []string {
			page := originaudit.Status(200, originaudit.Field{Name: "Content-Type", Value: "text/html"})
			return []string{s.Play(s.host, "/", func(v originaudit.Visit) originaudit.Answer {
				answer := page(v)
				answer.Body = []byte(`<html><head><link rel="alternate" type="application/rss+xml" href="/rss"><link rel="icon" href="/icon.png"></head><body>A page</body></html>`)
				return answer
			})}
		}},
		{name: "FRB082 a popular feed hears of its subscribers", play: func(s stage) []string {
			url := s.doc("/feed", new(originaudit.Document))
			return []string{url, url, url, url, url, url, url, url, url, url, url, url}
		}, want: toldSubscribers},
	}
}

// noMoreOften wants at most one poll an interval, and the first one.
func noMoreOften(r *rig, urls []string) error {
	log := r.origin.Log().Of(urls[0])
	if most := 2 + int(log[len(log)-1].Arrived.Sub(r.began)/rigInterval); len(log) > most {
		return fmt.Errorf("asked for %d times in %s, want at most %d", len(log), time.Since(r.began), most)
	}
	return nil
}

func toldSubscribers(r *rig, urls []string) error {
	log := r.origin.Log().Of(urls[0])
	agent := log[len(log)-1].Fields.Get("User-Agent")
	if !strings.Contains(agent, "12 subscribers") {
		return fmt.Errorf("User-Agent %q names no 12 subscribers", agent)
	}
	return nil
}

// statuses is enough when a URL was answered with these statuses in turn, and
// perhaps more.
func statuses(want string) func(originaudit.Log) bool {
	return func(log originaudit.Log) bool {
		got := strings.Trim(fmt.Sprint(log.Answered().Statuses()), "[]")
		return strings.HasPrefix(got+" ", want+" ")
	}
}
