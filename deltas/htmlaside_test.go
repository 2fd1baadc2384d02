package deltas

import "testing"

func TestHTMLAside(t *testing.T) {
	const news = "<p>News."
	tests := []struct{ name, body, want string }{
		{"breadcrumbs", `<nav aria-label="Breadcrumb"><a href="/">Home</a></nav><ol class="my-breadcrumbs"><li>Up</ol>` + news, "News.\n"},
		{"what has breadcrumbs", `<div class="has-breadcrumbs">` + news, "News.\n"},
		{"navigation beside the main content", "<nav>Menu</nav><main><nav>Chapters</nav>" + news + "</main><footer><nav>Imprint</nav></footer>", "Chapters\nNews.\n"},
		{"navigation is all there is", "<nav>Menu</nav><main></main>", "Menu\n"},
		{"navigation of a page that does not say what is", "<nav>Menu</nav>" + news, "Menu\nNews.\n"},
		{"a button", `<button>Collapse</button>` + news, "Collapse ⟨#⟩\nNews.\n"},
		{"a button of a form", `<form><button>Sold out</button><button type="button">Hide</button></form><button>Show</button>`, "Sold out\nHide ⟨#⟩\nShow ⟨#⟩\n"},
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
