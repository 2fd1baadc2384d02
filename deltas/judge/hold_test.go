package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// seenAs is a look at a document by a poller that has the current content, or has not.
type seenAs struct {
	body    string
	without bool // the current content
}

// What is held is told when a later look lacks most of the same, whatever the looks
// could be compared with, and whatever else they show.
func TestHoldsAreConfirmed(t *testing.T) {
	titled := func(title string, lines ...string) string {
		return "<html><title>" + title + "</title>" + pageOf(lines...)[len("<html>"):]
	}
	list := func(text string) string {
		return fmt.Sprintf(`{"items":[{"id":"id-1","title":%q,"url":"https://example.com/x"}]}`, text)
	}
	const page, feed = "<html><title>News</title><p>a<p>b<p>c", `<rss version="2.0"><channel><title>News</title><item><guid>id-1</guid><title>x</title><link>https://example.com/x</link></item></channel></rss>`
	const elsewhere = `{"items":[{"id":"id-1","title":"x","url":"https://example.com/y"}]}`
	for _, tc := range []struct {
		name    string
		current string
		looks   []seenAs
		want    string
	}{
		{"empty", page, []seenAs{{titled("News"), false}, {titled("News"), false}}, "hp"},
		{"empty, without the current content", page, []seenAs{{titled("News"), true}, {titled("News"), true}}, "hp"},
		{"empty under other titles, without the current content", page, []seenAs{{titled("1"), true}, {titled("2"), true}}, "hp"},
		{"empty, at first without the current content", page, []seenAs{{titled("News"), true}, {titled("1"), false}}, "hp"},
		{"empty, then without the current content", page, []seenAs{{titled("News"), false}, {titled("1"), true}}, "hp"},
		{"empty without the current content, then a line less", page, []seenAs{{titled("News"), true}, {titled("News", "a", "b"), false}, {titled("News", "a", "b"), false}}, "hhp"},
		{"an empty feed, without the current content", feed, []seenAs{{string(documents.Stories()), true}, {string(documents.Stories()), true}}, "hp"},
		{"another kind with the same entries", feed, []seenAs{{list("x"), false}, {list("x"), false}}, "hr"},
		{"another kind with the same entries, edited", feed, []seenAs{{list("y"), false}, {list("z"), false}}, "hp"},
		{"another kind with the same entries, at another link", feed, []seenAs{{elsewhere, false}, {elsewhere, false}}, "hp"},
		{"one of two equal lines", titled("News", "a", "b", "a"), []seenAs{{titled("News", "a", "b"), false}, {titled("News", "a", "b"), false}}, "hp"},
		{"one of two equal lines, then the other too", titled("News", "a", "b", "a"), []seenAs{{titled("News", "a", "b"), false}, {titled("News", "b"), false}}, "hp"},
		{"one of two equal lines, then another line", titled("News", "a", "b", "a"), []seenAs{{titled("News", "a", "b"), false}, {titled("News", "a", "a"), false}}, "hh"},
		{"content behind an empty page", titled("Loading"), []seenAs{{titled("News", "a"), false}}, "p"},
	} {
		current := extracted.Of(t, []byte(tc.current))
		state := settled(current)
		got := ""
		for n, look := range tc.looks {
			core := extracted.Of(t, []byte(look.body))
			base := current
			if look.without {
				base = nil
			}
			seen := slices.Concat(current.Identities(), core.Identities())
			d := Decide(state, seen, base, Observation{Begun: epoch.Add(time.Duration(n+1) * UsualGap), Core: core})
			state = d.State
			got += d.Verdict.String()[:1]
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// What a candidate lacks is known as the noise has it since: a number that is masked from
// the look on at which the candidate came is not missing later.
func TestHoldUnderNewMask(t *testing.T) {
	page := func(count int, lines string) *content.Core {
		counts := []string{}
		for _, name := range strings.Split("wxyz", "") {
			counts = append(counts, fmt.Sprintf("%s has pulls: %d of all", name, count))
		}
		return extracted.Of(t, []byte(pageOf(append(counts, strings.Split(lines, "")...)...)))
	}
	base := page(1, "abcdefghijk")
	o := owner{state: settled(base), base: base}
	o.state.Noise = Noise{looks: earlyLooks, slots: []slot{{key: newKey(slotNumber, "pulls: \x00 of"), rhythm: rhythm{score: 4}}}}
	got := ""
	for n, look := range []*content.Core{page(2, "a"), page(3, "abcdefgh"), page(4, "abcdefgh")} {
		got += o.report(t, epoch.Add(time.Duration(n+1)*UsualGap), look).Verdict.String()[:1]
		if n == 0 && o.state.Noise.Epoch != 1 {
			t.Fatalf("epoch %d", o.state.Noise.Epoch)
		}
	}
	if got != "hhp" {
		t.Errorf("%s: most of what was missing was back at the second look, and what was not is confirmed at the third", got)
	}
}

// No hold lasts: a content that was never here before and is held is told, or takes the
// current one's place, when the next look shows the very same.
func TestHoldsEnd(t *testing.T) {
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "d 1", "e"})
		document := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				title := rapid.SampledFrom([]string{"", "<title>News</title>", "<title>503</title>"}).Draw(t, "title")
				return "<html>" + title + pageOf(rapid.SliceOfN(line, 0, 5).Draw(t, "lines")...)[len("<html>"):]
			}),
			rapid.Map(rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 0, 4, rapid.ID), func(numbers []int) string { return string(documents.Stories(numbers...)) }),
			rapid.Map(rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 0, 4, rapid.ID), func(numbers []int) string {
				list := ""
				for i, n := range numbers {
					if i > 0 {
						list += ","
					}
					list += fmt.Sprintf(`{"id":"id-%d","title":"Story %d"}`, n, n)
				}
				return `{"items":[` + list + `]}`
			}),
		)
		base, next := extracted.Of(t, []byte(document.Draw(t, "base"))), extracted.Of(t, []byte(document.Draw(t, "next")))
		seen := slices.Concat(base.Identities(), next.Identities())
		known := []*content.Core{base, nil}
		state := settled(base)
		first := Decide(state, seen, rapid.SampledFrom(known).Draw(t, "known first"), Observation{Begun: epoch.Add(time.Hour), Core: next})
		if first.Verdict != VerdictHeld {
			return
		}
		held++
		second := Decide(first.State, seen, rapid.SampledFrom(known).Draw(t, "known then"), Observation{Begun: epoch.Add(2 * time.Hour), Core: next})
		if second.Verdict == VerdictHeld || second.Verdict == VerdictUnchanged {
			t.Fatalf("held for %q at the first look, %v for %q at the second", first.Reason, second.Verdict, second.Reason)
		}
	})
	if held == 0 {
		t.Error("nothing was held")
	}
}
