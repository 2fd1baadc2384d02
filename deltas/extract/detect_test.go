package extract

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

func TestDetect(t *testing.T) {
	const rss = `<rss version="2.0"><channel><title>t</title></channel></rss>`
	tests := []struct {
		name, body, contentType string
		want                    content.Kind
	}{
		{"RSS", rss, "", content.KindFeed},
		{"RSS as HTML", `<?xml version="1.0"?>` + rss, "text/html", content.KindFeed},
		{"RSS behind comments and DOCTYPE", "<!-- <html> --><!DOCTYPE rss [<!ENTITY x 'y'>]>\n" + rss, "", content.KindFeed},
		{"RSS behind a warning", "<br />\n<b>Warning</b>: mysql_connect()\n<?xml version=\"1.0\"?>" + rss, "text/html", content.KindFeed},
		{"RSS behind text", "Notice: undefined index\n\n" + rss, "", content.KindFeed},
		{"RDF", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"></rdf:RDF>`, "", content.KindFeed},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>`, "", content.KindFeed},
		{"JSON Feed", `{"version":"https:\/\/jsonfeed.org\/version\/1.1","items":[]}`, "", content.KindFeed},
		{"HTML", "<!doctype html><p>x", "", content.KindHTML},
		{"HTML that shows a feed", "<!doctype html><pre>&lt;rss</pre><script>'<rss>'</script>", "", content.KindHTML},
		{"XHTML", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`, "", content.KindHTML},
		{"a piece of HTML", "<div>x</div>", "", content.KindHTML},
		{"a piece of HTML of another element", "<details><summary>x</summary></details>", "", content.KindHTML},
		{"a piece of HTML behind a mark and a comment", "\ufeff \n<!-- x --><figure>x</figure>", "application/octet-stream", content.KindHTML},
		{"an element of its own as plain text", "<my-app>x</my-app>", "text/plain; charset=utf-8", content.KindHTML},
		{"XHTML without a declaration", `<dl xmlns="http://www.w3.org/1999/xhtml"><dt>x</dt></dl>`, "", content.KindHTML},
		{"a piece of XML by its header", "<note>x</note>", "application/xml", content.KindText},
		{"a piece of XML by its namespace", `<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>`, "", content.KindText},
		{"RSS as bytes", "<!-- x --><rss><channel><title>t</title></channel></rss>", "application/octet-stream", content.KindFeed},
		{"Atom as plain text", `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>`, "text/plain", content.KindFeed},
		{"an address in brackets", "<joe@example.com> wrote", "", content.KindText},
		{"a link in brackets", "<https://example.com/> is down", "text/plain", content.KindText},
		{"a heart", "<3 you", "", content.KindText},
		{"HTML by its header alone", "Hello <em>you</em>", "text/html; charset=utf-8", content.KindHTML},
		{"JSON", `{"a":1}`, "text/html", content.KindJSON},
		{"JSON list of numbers", `[1,2]`, "", content.KindJSON},
		{"text that begins like JSON", "[section]\nkey=value", "", content.KindText},
		{"a log", "[2026-01-01] started", "", content.KindText},
		{"other XML", `<?xml version="1.0"?><urlset><url/></urlset>`, "", content.KindText},
		{"text", "hello", "application/rss+xml", content.KindText},
	}
	for _, test := range tests {
		core, err := Content(Document{Body: []byte(test.body), ContentType: test.contentType})
		if err != nil || core.Kind != test.want {
			t.Errorf("%s: %v, %v; want %v", test.name, core, err, test.want)
		}
	}
}

func TestDetectForced(t *testing.T) {
	tests := []struct {
		body   string
		kind   content.Kind
		reason string // empty: read as asked
	}{
		{"<p>x", content.KindText, ""},
		{"hello", content.KindHTML, ""},
		{`"scalar"`, content.KindJSON, ""},
		{`{"items":[{"id":"1"}]}`, content.KindFeed, ""},
		{"<p>x", content.KindFeed, "no rss, rdf or feed"},
		{"<p>x", content.KindJSON, "not valid JSON"},
	}
	for _, test := range tests {
		core, err := Content(Document{Body: []byte(test.body), Kind: test.kind})
		var parse *content.ParseError
		switch {
		case test.reason == "" && err == nil && core.Kind == test.kind:
		case test.reason != "" && errors.As(err, &parse) && parse.Kind == test.kind && strings.Contains(parse.Reason, test.reason):
		default:
			t.Errorf("%q as %v: %v, %v; want %q", test.body, test.kind, core, err, test.reason)
		}
	}
}

// Row 25, of JSON: what is cut short is an error, and not text.
func TestDetectTruncatedJSON(t *testing.T) {
	const whole = `[{"id":1,"title":"a"},{"id":2}]`
	for n := 2; n < len(whole); n++ {
		var parse *content.ParseError
		if core, err := Content(Document{Body: []byte(whole[:n])}); !errors.As(err, &parse) || parse.Kind != content.KindJSON {
			t.Errorf("%q: %v, %v; want a JSON ParseError", whole[:n], core, err)
		}
	}
}
