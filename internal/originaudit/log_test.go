package originaudit

import (
	"fmt"
	"net/http"
	"time"
)

// noon is when all made-up logs begin: a Sunday.
var noon = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// policy is what the made-up logs are judged by.
func policy() Policy {
	return Policy{
		Interval: 30 * time.Minute, Floor: 5 * time.Minute, Gap: 500 * time.Millisecond, Parallel: 2, Contact: "https://example.org/us",
		MovedFor: 21 * 24 * time.Hour, Slack: 100 * time.Millisecond, Settle: 10 * time.Second,
		Published: func(url string) bool { return url != "http://h/robots.txt" },
	}
}

// honest is the head of a request that breaks no rule.
func honest() Fields {
	return Fields{
		{"Host", "h"}, {"User-Agent", "Corona/1.2 (+https://example.org/us; 42 subscribers)"},
		{"Accept", "*/*"}, {"Accept-Encoding", "br, gzip"},
	}
}

// A line makes or changes an exchange of a made-up log.
type line func(*Exchange)

// ask is a request of http://h/feed at a number of seconds from noon, answered 200
// in 10 ms without a word on anything, as changed by lines.
func ask(at float64, lines ...line) Exchange {
	e := Exchange{Host: "h", Method: "GET", Target: "/feed", Proto: "HTTP/1.1", Fields: honest(),
		Arrived: after(at), Said: Said{Status: 200}}
	e.Answered = e.Arrived.Add(10 * time.Millisecond)
	for _, change := range lines {
		change(&e)
	}
	if e.Said.Fields.Get("Date") == "" {
		e.Said.Fields = append(e.Said.Fields, Field{"Date", e.Answered.Truncate(time.Second).Format(http.TimeFormat)})
	}
	return e
}

func target(path string) line { return func(e *Exchange) { e.Target = path } }

func onHost(name string) line {
	return func(e *Exchange) {
		e.Host = name
		field("Host", name)(e)
	}
}

// field sets a request's field, or adds it.
func field(name, value string) line {
	return func(e *Exchange) {
		for i := range e.Fields {
			if e.Fields[i].Name == name {
				e.Fields[i].Value = value
				return
			}
		}
		e.Fields = append(e.Fields, Field{name, value})
	}
}

// more adds a field that may be there.
func more(name, value string) line {
	return func(e *Exchange) { e.Fields = append(e.Fields, Field{name, value}) }
}

// without leaves a request's field out.
func without(name string) line {
	return func(e *Exchange) {
		var kept Fields
		for _, f := range e.Fields {
			if f.Name != name {
				kept = append(kept, f)
			}
		}
		e.Fields = kept
	}
}

// with sends validators; empty ones are left out.
func with(tag, date string) line {
	return func(e *Exchange) {
		if tag != "" {
			field("If-None-Match", tag)(e)
		}
		if date != "" {
			field("If-Modified-Since", date)(e)
		}
	}
}

// status is answered, with fields as name and value in turn.
func status(status int, fields ...string) line {
	return func(e *Exchange) {
		e.Said.Status = status
		for i := 0; i < len(fields); i += 2 {
			e.Said.Fields = append(e.Said.Fields, Field{fields[i], fields[i+1]})
		}
	}
}

// gives answers 200 with validators.
func gives(tag, date string) line { return status(200, "ETag", tag, "Last-Modified", date) }

func doubtful(e *Exchange) { e.Said.Doubtful = true }

func hints(h Hints) line { return func(e *Exchange) { e.Said.Hints = h } }

// takes is how many seconds an exchange takes; less than 0: it has not ended.
func takes(seconds float64) line {
	return func(e *Exchange) {
		e.Answered = e.Arrived.Add(time.Duration(seconds * float64(time.Second)))
		if seconds < 0 {
			e.Answered = time.Time{}
		}
	}
}

// swallowed is a request that a connection took with it when it died.
func swallowed(e *Exchange) { e.Reused, e.Silent, e.Said = true, true, Said{} }

// date is an instant as HTTP writes it.
func date(seconds float64) string { return after(seconds).Format(http.TimeFormat) }

// every makes requests at a distance, each as changed by lines.
func every(from, distance float64, times int, lines ...line) (log []Exchange) {
	for i := range times {
		log = append(log, ask(from+float64(i)*distance, lines...))
	}
	return log
}

// pages are requests of so many URLs on as many hosts, all within a second.
func pages(from float64, n int) (log []Exchange) {
	for i := range n {
		log = append(log, ask(from+float64(i)/float64(n), onHost(fmt.Sprintf("h%d", i))))
	}
	return log
}
