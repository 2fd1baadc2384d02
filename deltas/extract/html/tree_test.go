package html_test

import (
	"fmt"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
)

// What grows are formatting elements that stay open, in whatever way; not those that are
// closed, however many.
func TestGrows(t *testing.T) {
	nine, ends := strings.Repeat("<div>", 9), strings.Repeat("</div>", 9)
	tests := []struct {
		name, html string
		want       bool
	}{
		{"nothing", "", false},
		{"text", repeated(1000, "x <3 y "), false},
		{"closed", repeated(5000, "<p><a href=#><b>x</b></a> <i class=#>y<br></i></p>"), false},
		{"closed, in blocks that are not", repeated(1000, "<li><p><b id=#>x</b>"), false},
		{"few open", repeated(32, "<b id=#>") + repeated(1000, "<p>x</p>"), false},
		{"one open in very many paragraphs", "<b>" + repeated(600_000, "<p>"), true},
		{"open", repeated(33, "<b id=#>"), true},
		{"open in upper case", repeated(33, "<FONT id=#/>"), true},
		{"open links", repeated(33, "<a href=#>"+nine+"</a>"+ends), true},
		{"ends that stand outside", repeated(33, "<p><b id=#></p></b>"), false},
		{"ends behind blocks", repeated(33, "<b id=#>"+nine+"</b>"+ends), true},
		{"ends in tables", repeated(33, "<b id=#><table></b></table>"), true},
		{"ends in objects", repeated(33, "<b id=#><object><table></object></b></table></object>"), true},
		{"ends in comments", repeated(33, "<b id=#><!--</b>-->"), true},
		{"ends in scripts", repeated(33, "<b id=#><script></b></script>"), true},
		{"in SVG's styles", "<svg><style>" + repeated(33, "<b id=#>"), true},
		{"behind SVG's sections", "<svg><![CDATA[><!--]]>" + repeated(33, "<b id=#>"), true},
		{"ends in SVG", repeated(33, "<b id=#><svg><foreignObject></foreignObject></svg></b>"), true},
		{"an icon, and closed links behind it", "<svg viewBox=#><title>#</title><g><path d=# /><use href=#></use></g></svg>" + repeated(500, "<p><a href=#><b>x</b></a></p>"), false},
		{"a formula, and closed links behind it", "<math><mrow><mi>x</mi><mo>=</mo><msup><mn>2</mn><mi>y</mi></msup></mrow></math>" + repeated(500, "<p><a href=#><i>x</i></a></p>"), false},
		{"formatting in an icon", "<svg><g><b id=1></g></svg>" + repeated(33, "<p><b id=#>x</b></p>"), true},
		{"an icon's title that closes itself", "<svg><title/><g></g></svg>" + repeated(33, "<b id=#>") + "</title>", true},
		{"markup in an icon's style", "<svg><style></g><b id=#></style></svg>" + repeated(33, "<p><b id=#>x</b></p>"), true},
		{"formatting in an icon's title", repeated(33, "<svg><title><b id=#></title></svg>"), true},
		{"formatting in a formula", repeated(33, "<math><mi><b id=#></mi></math>"), true},
		{"HTML that closes itself in an icon", "<svg><p>" + repeated(33, "<b id=#/>") + "</p></svg>", true},
		{"icons", repeated(30, "<p><svg><title>#</title><path d=# /></svg><b>x</b></p>"), false},
	}
	for _, test := range tests {
		if got := html.Grows(test.html); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// Of markup that does not grow, however it is nested, x/net makes a tree of few nodes.
func TestGrowsBoundsTrees(t *testing.T) {
	names := strings.Fields("b a nobr p div table td tr caption object select svg math mi desc foreignObject title style template button li form h1 marquee tbody span br script textarea body frameset g path msup")
	pieces := []string{"x", "<b id=#>", "<a href=#>", "<b id=#/>", "<svg><g><path/></g></svg>", "<math><mi>x</mi></math>", "<svg><title>x</title>", "<g/>", "<!--", "-->", "<![CDATA[", "]]>", strings.Repeat("<div>", 9), strings.Repeat("</div>", 9)}
	for _, name := range names {
		pieces = append(pieces, "<"+name+">", "</"+name+">")
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6), func(s []string) string { return strings.Join(s, "") })
		unit := some.Draw(t, "before") + "<b id=#>" + some.Draw(t, "within") + "</b>" + some.Draw(t, "behind")
		markup := some.Draw(t, "first") + repeated(100, unit) + some.Draw(t, "last") + strings.Repeat("<p>x</p>", 200)
		doc, err := xhtml.Parse(strings.NewReader(markup))
		if err != nil || html.Grows(markup) {
			return
		}
		nodes := 0
		for range doc.Descendants() {
			nodes++
		}
		if tags := strings.Count(markup, "<"); nodes > 5*tags {
			t.Fatalf("%d nodes of %d tags", nodes, tags)
		}
	})
}

// repeated returns n units, in each of which # is its number.
func repeated(n int, unit string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(unit, "#", fmt.Sprint(i)))
	}
	return b.String()
}
