package corona_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// rowBehaviours are what origins may do to a reader: rows 1 to 13 and 18 to 22 as a
// whole node meets them. None makes an update; what comes of a row within the
// fetcher is tested there.
func rowBehaviours() (behaviours []behaviour) {
	for _, row := range originaudit.Rows() {
		behaviours = append(behaviours, behaviour{
			name:   fmt.Sprintf("row %d %s", row.Number, row.Name),
			play:   func(s stage) []string { return []string{s.Play(s.host, "/feed", row.Play)} },
			enough: func(log originaudit.Log) bool { return len(log) > 0 },
			want:   version(0),
		})
	}
	flipping := &originaudit.Document{Flips: true}
	return append(behaviours,
		behaviour{
			name: "row 12 103, then the feed",
			play: func(s stage) []string {
				return []string{s.Play(s.host, "/feed", originaudit.Hinted(new(originaudit.Document).Answer))}
			},
			enough: statuses("200 304 304"),
			want:   version(1),
		},
		behaviour{
			name: "row 19 304 with a body",
			play: func(s stage) []string {
				doc := new(originaudit.Document).Answer
				return []string{s.Play(s.host, "/feed", originaudit.InTurn(doc, withBody(doc), doc))}
			},
			enough: statuses("200 304 304"),
			want:   version(1),
		},
		behaviour{
			// What flips each time is not written to disk each time: after a start an older
			// pair of the same content may be sent, once.
			name:   "row 20 ETag flips",
			may:    originaudit.Stale,
			play:   func(s stage) []string { return []string{s.doc("/feed", flipping)} },
			enough: statuses("200 200 200"),
			want:   version(1),
		},
		behaviour{
			name: "row 22 410 ends polling",
			play: func(s stage) []string {
				return []string{s.Play(s.host, "/feed", originaudit.InTurn(new(originaudit.Document).Answer, originaudit.Status(410)))}
			},
			enough: statuses("200 410"),
			want:   gone,
		},
	)
}

func withBody(script originaudit.Script) originaudit.Script {
	return func(v originaudit.Visit) originaudit.Answer {
		answer := script(v)
		answer.Fields = append(answer.Fields, originaudit.Field{Name: "Content-Length", Value: "5"})
		answer.Body = []byte("<rss>")
		return answer
	}
}

func gone(r *rig, urls []string) error {
	ch, err := r.channel(urls[0])
	if err != nil {
		return err
	}
	if !ch.Gone || ch.Rate != 0 {
		return fmt.Errorf("still polled: %+v", ch)
	}
	return nil
}

// redirectBehaviours are about redirects, within a host and across: each hop is
// judged at the host that it leads to, and validators stay with the URL that gave
// them.
func redirectBehaviours() (behaviours []behaviour) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		name := fmt.Sprintf("FRB130 %d is followed, and never learned", status)
		if status == 301 || status == 308 {
			name = fmt.Sprintf("FRB131 %d is followed, and not learned at once", status)
		}
		behaviours = append(behaviours, behaviour{name: name, play: playMoved(status), enough: moreThan(5), want: unlearned})
	}
	return append(behaviours,
		behaviour{name: "row 21 301 to a maintenance page", play: playMaintenance, enough: moreThan(5), want: unlearned},
		behaviour{
			name:   "row 13 six hops",
			enough: func(log originaudit.Log) bool { return len(log.Answered()) > 0 },
			want:   version(0),
			play: func(s stage) []string {
				for hop := range 7 {
					s.Play(s.host+1, fmt.Sprintf("/%d", hop), originaudit.Redirect(302, fmt.Sprintf("/%d", hop+1)))
				}
				s.Play(s.host+1, "/7", new(originaudit.Document).Answer)
				return []string{s.Play(s.host, "/feed", originaudit.Redirect(302, s.URL(s.host+1, "/0")))}
			},
		},
		behaviour{
			name:   "row 16 redirect to a forbidden port",
			enough: func(log originaudit.Log) bool { return len(log.Answered()) > 0 },
			want:   version(0),
			play: func(s stage) []string {
				return []string{s.Play(s.host, "/feed", originaudit.Redirect(302, "http://127.0.0.1:6379/"))}
			},
		},
		behaviour{
			name:   "row 18 a hop to a host that rests",
			enough: func(log originaudit.Log) bool { return len(log.Answered()) > 2 },
			play: func(s stage) []string {
				doc := new(originaudit.Document).Answer
				refused := s.Play(s.host+1, "/feed", originaudit.InTurn(originaudit.Refusal(429, "5"), doc))
				s.Play(s.host+1, "/there", new(originaudit.Document).Answer)
				return []string{s.Play(s.host, "/feed", originaudit.Redirect(302, s.URL(s.host+1, "/there"))), refused}
			},
		},
		behaviour{
			name:   "RFC 3229 new entries alone",
			enough: statuses("200 226 304 226"),
			want:   version(3),
			play: func(s stage) []string {
				doc := &originaudit.Document{Deltas: true}
				return []string{s.Play(s.host, "/feed", func(v originaudit.Visit) originaudit.Answer {
					if v.Number == 1 || v.Number == 3 {
						doc.Grow()
					}
					return doc.Answer(v)
				})}
			},
		},
	)
}

// playMoved redirects twice, within the host and to the other one.
func playMoved(status int) func(stage) []string {
	return func(s stage) []string {
		s.Play(s.host+1, "/there", new(originaudit.Document).Answer)
		s.Play(s.host, "/here", originaudit.Redirect(status, s.URL(s.host+1, "/there")))
		return []string{s.Play(s.host, "/feed", originaudit.Redirect(status, "here"))}
	}
}

// playMaintenance has a feed at first, and leads to a page for weeks.
func playMaintenance(s stage) []string {
	page := originaudit.Status(200, originaudit.Field{Name: "Content-Type", Value: "text/html"})
	s.Play(s.host+1, "/there", func(v originaudit.Visit) originaudit.Answer {
		answer := page(v)
		answer.Doubtful = true
		answer.Body = []byte("<html><head><title>Sorry</title></head><body><p>We are back soon.</p></body></html>")
		return answer
	})
	moved := originaudit.Redirect(301, s.URL(s.host+1, "/there"))
	return []string{s.Play(s.host, "/feed", originaudit.InTurn(new(originaudit.Document).Answer, moved))}
}

// unlearned wants redirects to be asked for each time.
func unlearned(r *rig, urls []string) error {
	number := slices.IndexFunc(r.urls, func(of []string) bool { return of[0] == urls[0] })
	log := r.origin.Log()
	if n := direct(log.Of(urls[0]), r.of(log, number)); n > 0 {
		return fmt.Errorf("asked for where %s leads %d times without being sent there", urls[0], n)
	}
	return nil
}

// direct counts how often the end of redirects was asked for without them.
func direct(first, all originaudit.Log) (n int) {
	for i := range all {
		if all[i].Target == "/there" {
			n++
		}
	}
	for _, status := range first.Statuses() {
		if status >= 300 && status < 400 && status != 304 {
			n--
		}
	}
	return n
}

func moreThan(n int) func(originaudit.Log) bool {
	return func(log originaudit.Log) bool { return len(log.Answered()) > n }
}

// healthyBehaviours are feeds that nothing is wrong with, beside everything else.
func healthyBehaviours() []behaviour {
	return []behaviour{{name: "healthy feeds are on time", want: onTime, play: func(s stage) (urls []string) {
		for n := range 5 {
			urls = append(urls, s.doc(fmt.Sprintf("/feed/%d", n), new(originaudit.Document)))
		}
		return urls
	}}}
}

// onTime wants no slot of a healthy feed to have been missed while the node ran,
// but for what a start and a restart hide.
func onTime(r *rig, urls []string) error {
	for _, url := range urls {
		log := r.origin.Log().Of(url)
		want := int(time.Since(r.began)/rigInterval) - 4
		if len(log) < want {
			return fmt.Errorf("%s was asked for %d times in %s; want %d at least", url, len(log), time.Since(r.began), want)
		}
	}
	return nil
}
