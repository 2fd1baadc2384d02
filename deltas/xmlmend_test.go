package deltas

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Row 25: of a feed that is cut short, wherever, the whole entries are read, as
// they are in the whole feed; nothing else is an entry, and nothing was taken away.
func TestCutFeed(t *testing.T) {
	rss := string(stories(4, 3, 2, 1))
	for name, whole := range map[string]string{
		"RSS":  rss,
		"odd":  strings.Replace(rss, "<item>", "<odd a=b/><item>", 1),
		"Atom": madeAtom(`<content type="html">`, "&lt;p&gt;%s&lt;/p&gt;", "</content>", ""),
	} {
		base := mustExtract(t, []byte(whole))
		first := strings.Index(whole, "</item>") + strings.Index(whole, "</entry>") + 1
		for n := 1; n < len(whole); n += 1 + len(whole)/200 {
			core, err := Extract(Document{Body: []byte(whole[:n]), Kind: KindFeed})
			if err != nil {
				if n > first+len("</entry>") {
					t.Errorf("%s, first %d bytes: %v", name, n, err)
				}
				continue
			}
			if !core.Cut || fmt.Sprint(core.Entries) != fmt.Sprint(base.Entries[:len(core.Entries)]) {
				t.Errorf("%s, first %d bytes: %v %+v", name, n, core.Cut, core.Entries)
			}
			if u := Compare(base, core); len(u.Entries.Added)+len(u.Entries.Changed)+len(u.Entries.Removed) > 0 {
				t.Errorf("%s, first %d bytes: update %+v", name, n, u.Entries)
			}
		}
	}
}

// Row 25: what a cut feed lacks is not taken away, even where others stay behind it.
func TestCutFeedRemovesNothing(t *testing.T) {
	base := mustExtract(t, stories(1, 2, 3, 4))
	whole := string(stories(1, 2, 5, 4))
	core := mustExtract(t, []byte(whole[:len(whole)-60]))
	if ids := entryIDs(core.Entries); !core.Cut || ids != "id-1 id-2 id-5" {
		t.Fatalf("cut %v, entries %s", core.Cut, ids)
	}
	begun := time.Unix(1e9, 0)
	d := Judge(State{Extractor: ExtractorVersion, Current: base.Hash, Face: base.Hash, Shown: begun, Looked: begun}, base.Identities(), base,
		Observation{Begun: begun.Add(time.Hour), Core: core})
	u := d.Noise.Compare(base, core)
	if u.Admit(d.NewSeen); d.Verdict != VerdictPublish || entryIDs(u.Entries.Added) != "id-5" || len(u.Entries.Removed) > 0 {
		t.Errorf("%v, %+v", d.Verdict, u.Entries)
	}
}

// An element of another vocabulary that nobody closed hides nothing.
func TestUnclosedExtension(t *testing.T) {
	whole := string(stories(2, 1))
	want := mustExtract(t, []byte(whole))
	for name, mangle := range map[string]func(string) string{
		"in the channel": func(s string) string { return strings.Replace(s, "<title>", `<atom:link href="x"><title>`, 1) },
		"two":            func(s string) string { return strings.Replace(s, "<title>", `<atom:link href="x"><x:y>text<title>`, 1) },
		"in all items": func(s string) string {
			return strings.ReplaceAll(strings.Replace(s, "<title>", `<atom:link href="x"><title>`, 1), "<item>", "<item><media:thumbnail url='x'>")
		},
	} {
		core := mustExtract(t, []byte(mangle(whole)))
		if core.Cut || core.Hash != want.Hash || !slices.Equal(core.Identities(), want.Identities()) {
			t.Errorf("%s: %v\n%s", name, core.Cut, core.Text)
		}
	}
}

// FuzzMend: whatever the bytes, what is mended needs no mending.
func FuzzMend(f *testing.F) {
	whole := string(stories(2, 1))
	f.Add(whole[:len(whole)-30])
	f.Add(strings.Replace(whole, "<title>", `<atom:link href="x"><x:y><title>`, 1))
	f.Add("<><channel><:></item></channel>")
	f.Fuzz(func(t *testing.T, text string) {
		mended, cut := MendXML(text)
		if mended == "" {
			return
		}
		if again, cutAgain := MendXML(mended); cutAgain || again != "" && !cut && again == mended {
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
		core, err := Extract(Document{Body: []byte(body), ContentType: "application/rss+xml"})
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if !strings.Contains(string(core.Text), "title: "+title+"\n  1 <2\n") || !strings.Contains(string(core.Text), "title: other") {
			t.Errorf("%s: read as\n%s", title, core.Text)
		}
	}
}
