package html

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// simpleAlike checks that a tree of HTML that is simple says what the HTML says.
func simpleAlike(t rapid.TB, text string) (simple bool) {
	if simple = IsSimple(text); !simple {
		return false
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	base := &url.URL{Scheme: "https", Host: "www.example.com", Path: "/a/b"}
	got, want := Lines(text, base, nil), Lines(writeHTML(doc), base, nil)
	if !slices.Equal(got, want) {
		t.Fatalf("%q is simple and says\n%q, its tree\n%q", text, got, want)
	}
	return true
}

func TestSimpleHTML(t *testing.T) {
	for text, want := range map[string]bool{
		"a < b":                               true,
		"<p>a<!-- b --!>c<?d?></>e</p>":       true,
		"<p a='&lt'b=&amp;c>d</p>":            true,
		"<p =a/b c\"=d>e</p>":                 true,
		"<ul><li>a</li><li>b</li></ul>":       true,
		"<p>a<p>b</p>":                        false,
		"<a href=b><a href=c>d</a></a>":       false,
		"<table><tr><td>a</td></tr>b</table>": false,
		"<p>a":                                false,
		"<script>a</script>":                  false,
		"<x-y>a</x-y>":                        false,
	} {
		if got := simpleAlike(t, text); got != want {
			t.Errorf("%q is simple: %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(htmlPieces, []string{"<div>", "</div>", "<b>", "</b>", "<table>", "</tr>", "</td>", "</table>"})), 0, 8)
		simpleAlike(t, strings.Join(pieces.Draw(t, "pieces"), ""))
	})
}
