package feed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

// Row 25: of a feed that is cut short, wherever, the whole entries are read, as
// they are in the whole feed; nothing else is an entry, and nothing was taken away.
func TestCutFeed(t *testing.T) {
	rss := string(documents.Stories(4, 3, 2, 1))
	for name, whole := range map[string]string{
		"RSS":  rss,
		"odd":  strings.Replace(rss, "<item>", "<odd a=b/><item>", 1),
		"Atom": documents.Atom(`<content type="html">`, "&lt;p&gt;%s&lt;/p&gt;", "</content>", ""),
	} {
		base := extracted.Of(t, []byte(whole))
		first := strings.Index(whole, "</item>") + strings.Index(whole, "</entry>") + 1
		for n := 1; n < len(whole); n += 1 + len(whole)/200 {
			core, err := extract.Content(extract.Document{Body: []byte(whole[:n]), Kind: content.KindFeed})
			if err != nil {
				if n > first+len("</entry>") {
					t.Errorf("%s, first %d bytes: %v", name, n, err)
				}
				continue
			}
			if !core.Cut || fmt.Sprint(core.Entries) != fmt.Sprint(base.Entries[:len(core.Entries)]) {
				t.Errorf("%s, first %d bytes: %v %+v", name, n, core.Cut, core.Entries)
			}
			if u := judge.Compare(base, core); len(u.Entries.Added)+len(u.Entries.Changed)+len(u.Entries.Removed) > 0 {
				t.Errorf("%s, first %d bytes: update %+v", name, n, u.Entries)
			}
		}
	}
}

// Row 25: what a cut feed lacks is not taken away, even where others stay behind it.
func TestCutFeedRemovesNothing(t *testing.T) {
	base := extracted.Of(t, documents.Stories(1, 2, 3, 4))
	whole := string(documents.Stories(1, 2, 5, 4))
	core := extracted.Of(t, []byte(whole[:len(whole)-60]))
	if ids := extracted.IDs(core.Entries); !core.Cut || ids != "id-1 id-2 id-5" {
		t.Fatalf("cut %v, entries %s", core.Cut, ids)
	}
	begun := time.Unix(1e9, 0)
	d := judge.Decide(judge.State{Extractor: content.ExtractorVersion, Current: base.Hash, Face: base.Hash, Shown: begun, Looked: begun}, base.Identities(), base,
		judge.Observation{Begun: begun.Add(time.Hour), Core: core})
	u := d.Noise.Compare(base, core)
	if u.Admit(d.NewSeen); d.Verdict != judge.VerdictPublish || extracted.IDs(u.Entries.Added) != "id-5" || len(u.Entries.Removed) > 0 {
		t.Errorf("%v, %+v", d.Verdict, u.Entries)
	}
}

// An unclosed element of another vocabulary hides nothing.
func TestUnclosedExtension(t *testing.T) {
	whole := string(documents.Stories(2, 1))
	want := extracted.Of(t, []byte(whole))
	for name, mangle := range map[string]func(string) string{
		"in the channel": func(s string) string { return strings.Replace(s, "<title>", `<atom:link href="x"><title>`, 1) },
		"two":            func(s string) string { return strings.Replace(s, "<title>", `<atom:link href="x"><x:y>text<title>`, 1) },
		"in all items": func(s string) string {
			return strings.ReplaceAll(strings.Replace(s, "<title>", `<atom:link href="x"><title>`, 1), "<item>", "<item><media:thumbnail url='x'>")
		},
	} {
		core := extracted.Of(t, []byte(mangle(whole)))
		if core.Cut || core.Hash != want.Hash || !slices.Equal(core.Identities(), want.Identities()) {
			t.Errorf("%s: %v\n%s", name, core.Cut, core.Text)
		}
	}
}

// An unclosed element behind each item hides none, though they stand in each other.
func TestUnclosedBetweenItems(t *testing.T) {
	numbers := make([]int, 600)
	for n := range numbers {
		numbers[n] = len(numbers) - n
	}
	body := strings.ReplaceAll(string(documents.Stories(numbers...)), "</item>", "</item><x:y z='1'>")
	if core := extracted.Of(t, []byte(body)); len(core.Entries) != len(numbers) {
		t.Errorf("%d entries", len(core.Entries))
	}
}

// FuzzMend: whatever the bytes, what is mended needs no mending.
func FuzzMend(f *testing.F) {
	whole := string(documents.Stories(2, 1))
	f.Add(whole[:len(whole)-30])
	f.Add(strings.Replace(whole, "<title>", `<atom:link href="x"><x:y><title>`, 1))
	f.Add("<><channel><:></item></channel>")
	f.Fuzz(func(t *testing.T, text string) {
		mended, cut := feed.MendXML(text)
		if mended == "" {
			return
		}
		if again, cutAgain := feed.MendXML(mended); cutAgain || again != "" && !cut && again == mended {
			t.Fatalf("%q is mended as %q, and again as %q", text, mended, again)
		}
	})
}

// A '<' that no name follows is text: publishers forget to escape it.
func TestUnescapedLess(t *testing.T) {
	for _, title := range []string{"I <3 you", "a < b", "1<2", "<- back", "x <= y", "<3"} {
		body := `<?xml version="1.0"?><rss version="2.0"><channel><title>f</title>` +
			`<item><guid>1</guid><title>` + title + `</title><description><![CDATA[1 <2]]></description></item>` +
			`<item><guid>2</guid><title>other</title></item></channel></rss>`
		core, err := extract.Content(extract.Document{Body: []byte(body), ContentType: "application/rss+xml"})
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if !strings.Contains(string(core.Text), "title: "+title+"\n  1 <2\n") || !strings.Contains(string(core.Text), "title: other") {
			t.Errorf("%s: read as\n%s", title, core.Text)
		}
	}
}
