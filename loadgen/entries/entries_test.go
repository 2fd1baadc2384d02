package entries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// feed returns an RSS document; an entry of a name with a slash has no GUID, but a link.
func feed(entries ...string) loadgen.Capture {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>t</title>`)
	for _, e := range entries {
		tag := "guid"
		if strings.Contains(e, "/") {
			tag = "link"
		}
		fmt.Fprintf(&b, "<item><title>x</title><%s>%s</%s></item>", tag, e, tag)
	}
	return loadgen.Capture{Body: []byte(b.String() + "</channel></rss>")}
}

func TestFresh(t *testing.T) {
	trace := &loadgen.Trace{Captures: []loadgen.Capture{feed("a"), feed("b", "a"), {Body: []byte("<html>maintenance</html>")}, feed("c", "http://x/d", "b"), feed("a", "c")}}
	got := Fresh(trace)
	if len(got) != 3 || got["b"] != 2 || got["c"] != 4 || got["http://x/d"] != 4 {
		t.Errorf("%v", got)
	}
}

// Of four entries, one is before the window; at two subscriptions one is missing, one comes twice
// and one late.
func TestJudge(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	began := func(_ int, revision int64) time.Time { return at(float64(revision) * 10) }
	l := New([]map[string]int64{{"a": 2, "b": 3, "c": 4, "d": 5}})
	l.Subscribed(0, 0)
	l.Subscribed(1, 0)
	l.Add(0, []string{"b"}, true, at(31))
	l.Add(0, []string{"c", "b"}, true, at(41))
	l.Add(0, []string{"d"}, true, at(58))
	l.Add(1, []string{"b", "c"}, true, at(41))
	l.Add(1, nil, false, at(42))
	l.Add(1, nil, true, at(43))
	got := *l.Judge(at(25), at(55), at(60), began)
	want := got
	want.Documents, want.Fresh, want.Missing, want.Twice, want.Silent, want.WaitMax = 1, 3, 1, 1, 1, 11000
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	l.Add(1, []string{"d"}, true, at(51))
	if got := l.Judge(at(25), at(55), at(60), began); got.Missing != 0 || got.WaitMax != 11000 {
		t.Errorf("%+v", got)
	}
	if got := l.Judge(at(45), at(55), at(60), began); got.Fresh != 1 || got.WaitMax != 8000 {
		t.Errorf("%+v", got)
	}
}
