package deltas

import (
	"fmt"
	"strings"
	"testing"
)

func TestHTMLAside(t *testing.T) {
	const news = "<p>News."
	tests := []struct{ name, body, want string }{
		{"breadcrumbs", `<nav aria-label="Breadcrumb"><a href="/">Home</a></nav><ol class="my-breadcrumbs"><li>Up</ol>` + news, "News.\n"},
		{"what has breadcrumbs", `<div class="has-breadcrumbs">` + news, "News.\n"},
		{"navigation beside the main content", "<nav>Menu</nav><main><nav>Chapters</nav>" + news + "</main><footer><nav>Imprint</nav></footer>", "Chapters\nNews.\n"},
		{"navigation is all there is", "<nav>Menu</nav><main></main>", "Menu\n"},
		{"navigation, and a header", "<header>Site</header><nav>Menu</nav><main><img alt=''></main>", "Site\nMenu\n"},
		{"main content that does not end", "<nav>Menu</nav><main>" + news, "News.\n"},
		{"main content in navigation", "Site<nav>Menu<main>" + news + "</main></nav>", "Site\nMenu\nNews.\n"},
		{"main content of a comment, and a script's", "<!-- <main> --><script>'<main>'</script><nav>Menu</nav>" + news, "Menu\nNews.\n"},
		{"navigation of a page that does not say what is", "<nav>Menu</nav>" + news, "Menu\nNews.\n"},
		{"a button", `<button>Collapse</button>` + news, "Collapse ⟨#⟩\nNews.\n"},
		{"a button of a form", `<form><button>Sold out</button><button type="button">Hide</button></form><button>Show</button>`, "Sold out\nHide ⟨#⟩\nShow ⟨#⟩\n"},
		{"a button in a link", `<a href="/v2.zip"><button>Download</button></a><a href="#"><button>Hide</button></a>`, "Download ⟨/v2.zip⟩\nHide ⟨#⟩\n"},
		{"a button that cannot be pressed", `<button disabled>Sold out</button>`, "Sold out\n"},
		{"a button with a number", `<button>Buy now for $50</button>`, "Buy now for $50\n"},
		{"a button with a question", `<button>How may a tenant apply for the grant of housing?</button>`, "How may a tenant apply for the grant of housing?\n"},
		{"a button of blocks", `<button><div>Buy now for $50</div><p>Hide</p></button>`, "Buy now for $50\nHide\n"},
		{"a button of a form elsewhere", `<form id="f"></form><button form="f">Sold out</button>`, "Sold out\n"},
		{"a heading that opens what is below", "<h3><button>Who may apply?</button></h3><p>All.<button><h3>When?</h3></button>", "Who may apply?\nAll.\nWhen?\n"},
		{"a button in a table", "<table><tr><td><button>Name</button><td>5</table>", "Name | 5\n"},
		{"a label that comes up", `<button aria-labelledby="a"></button><span id="a" aria-hidden="true">Scroll</span><span id="b" aria-hidden="true">News.</span>`, "News.\n"},
		{"a label that all see", `<h2 id="a">Section</h2><button aria-labelledby="a"></button>`, "Section\n"},
		{"a tooltip", `<span role="tooltip">Scroll</span>` + news, "News.\n"},
	}
	for _, test := range tests {
		if core := mustExtract(t, []byte("<html>"+test.body)); core.body != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, core.body, test.want)
		}
	}
}

func TestLabelsBounded(t *testing.T) {
	var ids strings.Builder
	for n := range 2 * maxLabels {
		fmt.Fprintf(&ids, "%d ", n)
	}
	p := readHTML(`<button aria-labelledby="`+ids.String()+`"></button><button aria-labelledby="x"></button>`, page{})
	if len(p.labels) != maxLabels {
		t.Errorf("%d labels", len(p.labels))
	}
}
