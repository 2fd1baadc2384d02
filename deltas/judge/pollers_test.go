package judge

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// poll is what one of two pollers saw.
type poll struct {
	begun int // seconds
	core  *content.Core
}

// interleave lets each poll take up to 29 seconds, and returns the owner that the
// reports reached in the order of their ends, some of them twice.
func interleave(t *rapid.T, polls []poll) *owner {
	random := clockOf(t)
	ends := make(map[int][]poll)
	for _, p := range polls {
		end := p.begun + random.IntN(30)
		ends[end] = append(ends[end], p)
		if random.IntN(8) == 0 {
			ends[end+1] = append(ends[end+1], p)
		}
	}
	var o owner
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		for _, p := range ends[end] {
			o.report(t, epoch.Add(time.Duration(p.begun)*time.Second), p.core)
		}
	}
	return &o
}

// clockOf returns what times are drawn from: too many for rapid to draw one by one.
func clockOf(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "times"), 0)) }

// stand is a content of an origin's life.
type stand struct {
	core    *content.Core
	returns bool          // it stood before
	wrong   *content.Core // what a single poll shows instead, once the content is known; nil: none
}

// pageLife generates the life of a page, text or JSON: lines are written, rewritten and
// taken away, and it becomes again what it was. Now and then a poll shows a wrong
// body, one that is cut, or one of the contents before.
func pageLife(t *rapid.T) []stand {
	render := map[string]func(...string) string{
		"page": pageOf,
		"text": func(lines ...string) string { return strings.Join(lines, "\n") },
		"JSON": func(lines ...string) string { return `{"lines":["` + strings.Join(lines, `","`) + `"]}` },
		"JSON list": func(lines ...string) string {
			return `{"offers":[{"kind":"offer","name":"` + strings.Join(lines, `"},{"kind":"offer","name":"`) + `"}]}`
		},
		"JSON list whose key changes": func(lines ...string) string {
			var regions []string
			for i, line := range lines {
				regions = append(regions, fmt.Sprintf(`{"level":%q,"region":"Region %c"}`, line, 'A'+i))
			}
			return "[" + strings.Join(regions, ",") + "]"
		},
		"JSON table": func(lines ...string) string {
			return `{"rows":[["line","length"]` + `,["` + strings.Join(lines, `",1],["`) + `",1]]}`
		},
	}[rapid.SampledFrom([]string{"page", "text", "JSON", "JSON list", "JSON list whose key changes", "JSON table"}).Draw(t, "kind")]
	var life []stand
	wrong := []string{"<html><p>", "<html><title>503 Service Unavailable</title><p>Come back later."}
	last := ""
	for lines := range pageEdits(t) {
		body := render(lines...)
		if body == last {
			continue
		}
		s := stand{core: extracted.Of(t, []byte(body)), returns: slices.Contains(wrong, body)}
		if len(life) > 0 && rapid.Bool().Draw(t, "wrong") {
			if shows := rapid.SampledFrom(append(wrong, render(lines[0]))).Draw(t, "shows"); shows != body {
				s.wrong = extracted.Of(t, []byte(shows))
			}
		}
		life = append(life, s)
		wrong = append(wrong, body)
		last = body
	}
	return life
}

// pageEdits generates the lines of a page's contents, one after the other.
func pageEdits(t *rapid.T) iter.Seq[[]string] {
	written := 0
	line := func() string {
		written++
		return "Line " + strings.Repeat("x", written)
	}
	return func(yield func([]string) bool) {
		contents := [][]string{{line(), line(), line()}}
		for n := rapid.IntRange(1, 7).Draw(t, "edits"); n > 0 && yield(contents[len(contents)-1]); n-- {
			lines := slices.Clone(contents[len(contents)-1])
			at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
			switch step := rapid.SampledFrom([]string{"add", "edit", "remove", "revert"}).Draw(t, "step"); {
			case step == "add":
				lines = slices.Insert(lines, at, line())
			case step == "remove" && len(lines) > 1:
				lines = slices.Delete(lines, at, at+1)
			case step == "revert":
				lines = rapid.SampledFrom(contents).Draw(t, "to")
			default:
				lines[at] = line()
			}
			contents = append(contents, lines)
		}
	}
}

// pollsOf returns the polls of two pollers, each once in the usual gap and at most
// 30 seconds from the other. Each content begins around them and stands for as long
// as the judge may ask for.
func pollsOf(t *rapid.T, life []stand) []poll {
	random := clockOf(t)
	var polls []poll
	gap, before := 0, life[0].core
	for n, s := range life {
		gaps, begins := 6, 0
		if s.returns {
			gaps = 4 + 2*maxFlaps
		}
		if n > 0 {
			begins = random.IntN(31)
		}
		for g := range gaps {
			for poller := range 2 {
				at, core := random.IntN(30), s.core
				if g == 0 && at < begins {
					core = before
				} else if g == gaps-2 && poller == 0 && s.wrong != nil {
					core = s.wrong
				}
				polls = append(polls, poll{gap*int(UsualGap/time.Second) + at, core})
			}
			gap++
		}
		before = s.core
	}
	return polls
}

// Two pollers that see the same life of a page, with their reports in whatever
// order their fetches give: the versions are the origin's contents, each when it
// begins, and nothing else.
func TestJudgeTwoPollers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := pageLife(t)
		polls := pollsOf(t, life)
		var want []content.Hash
		for _, s := range life {
			want = append(want, s.core.Hash)
		}
		for range 2 {
			o := interleave(t, polls)
			if !slices.Equal(o.versions, want) || o.state.Current != want[len(want)-1] {
				t.Fatalf("versions %v, current %v; the origin showed %v", o.versions, o.state.Current, want)
			}
		}
	})
}

// Two pollers that see a feed grow, their reports arriving in any order within
// their fetches: the versions published are in the order of the origin, none
// twice, and the last is what the origin shows.
func TestJudgeTwoPollersOfGrowingFeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cores []*content.Core
		var polls []poll
		newest := 0
		for n := range rapid.IntRange(2, 8).Draw(t, "contents") {
			newest += rapid.IntRange(1, 3).Draw(t, "added")
			var window []int
			for i := newest; i > max(0, newest-6); i-- {
				window = append(window, i)
			}
			cores = append(cores, extracted.Of(t, documents.Stories(window...)))
			for poller := range 2 {
				begun := 60*n + rapid.IntRange(0, 59).Draw(t, fmt.Sprint("begun by ", poller))
				polls = append(polls, poll{begun, cores[n]})
			}
		}
		o := interleave(t, polls)
		last := -1
		for _, version := range o.versions {
			at := slices.IndexFunc(cores, func(c *content.Core) bool { return c.Hash == version })
			if at <= last {
				t.Fatalf("content %d was published behind content %d", at, last)
			}
			last = at
		}
		if want := cores[len(cores)-1].Hash; o.state.Current != want || o.versions[len(o.versions)-1] != want {
			t.Fatalf("current is %v, last published %v, the origin shows %v", o.state.Current, o.versions[len(o.versions)-1], want)
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(o.reported))); len(unique) != len(o.reported) {
			t.Fatalf("reported twice among %v", o.reported)
		}
	})
}
