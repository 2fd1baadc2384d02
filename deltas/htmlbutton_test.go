package deltas

import "testing"

func TestHTMLButtons(t *testing.T) {
	const news = "<p>News."
	tests := []struct{ name, body, want string }{
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
	}
	for _, test := range tests {
		if core := mustExtract(t, []byte("<html>"+test.body)); core.body != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, core.body, test.want)
		}
	}
}
