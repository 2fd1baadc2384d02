package deltas

import (
	"errors"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	const rss = `<rss version="2.0"><channel><title>t</title></channel></rss>`
	tests := []struct {
		name, body, contentType string
		want                    Kind
	}{
		{"RSS", rss, "", KindFeed},
		{"RSS as HTML", `<?xml version="1.0"?>` + rss, "text/html", KindFeed},
		{"RSS behind comments and DOCTYPE", "<!-- <html> --><!DOCTYPE rss [<!ENTITY x 'y'>]>\n" + rss, "", KindFeed},
		{"RSS behind a warning", "<br />\n<b>Warning</b>: mysql_connect()\n<?xml version=\"1.0\"?>" + rss, "text/html", KindFeed},
		{"RSS behind text", "Notice: undefined index\n\n" + rss, "", KindFeed},
		{"RDF", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"></rdf:RDF>`, "", KindFeed},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>`, "", KindFeed},
		{"JSON Feed", `{"version":"https:\/\/jsonfeed.org\/version\/1.1","items":[]}`, "", KindFeed},
		{"HTML", "<!doctype html><p>x", "", KindHTML},
		{"HTML that shows a feed", "<!doctype html><pre>&lt;rss</pre><script>'<rss>'</script>", "", KindHTML},
		{"XHTML", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`, "", KindHTML},
		{"a piece of HTML", "<div>x</div>", "", KindHTML},
		{"a piece of HTML of another element", "<details><summary>x</summary></details>", "", KindHTML},
		{"a piece of HTML behind a mark and a comment", "\ufeff \n<!-- x --><figure>x</figure>", "application/octet-stream", KindHTML},
		{"an element of its own as plain text", "<my-app>x</my-app>", "text/plain; charset=utf-8", KindHTML},
		{"XHTML without a declaration", `<dl xmlns="http://www.w3.org/1999/xhtml"><dt>x</dt></dl>`, "", KindHTML},
		{"a piece of XML by its header", "<note>x</note>", "application/xml", KindText},
		{"a piece of XML by its namespace", `<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>`, "", KindText},
		{"RSS as bytes", "<!-- x --><rss><channel><title>t</title></channel></rss>", "application/octet-stream", KindFeed},
		{"Atom as plain text", `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>`, "text/plain", KindFeed},
		{"an address in brackets", "<joe@example.com> wrote", "", KindText},
		{"a link in brackets", "<https://example.com/> is down", "text/plain", KindText},
		{"a heart", "<3 you", "", KindText},
		{"HTML by its header alone", "Hello <em>you</em>", "text/html; charset=utf-8", KindHTML},
		{"JSON", `{"a":1}`, "text/html", KindJSON},
		{"JSON list of numbers", `[1,2]`, "", KindJSON},
		{"text that begins like JSON", "[section]\nkey=value", "", KindText},
		{"a log", "[2026-01-01] started", "", KindText},
		{"other XML", `<?xml version="1.0"?><urlset><url/></urlset>`, "", KindText},
		{"text", "hello", "application/rss+xml", KindText},
	}
	for _, test := range tests {
		core, err := Extract(Document{Body: []byte(test.body), ContentType: test.contentType})
		if err != nil || core.Kind != test.want {
			t.Errorf("%s: %v, %v; want %v", test.name, core, err, test.want)
		}
	}
}

func TestDetectForced(t *testing.T) {
	tests := []struct {
		body   string
		kind   Kind
		reason string // empty: read as asked
	}{
		{"<p>x", KindText, ""},
		{"hello", KindHTML, ""},
		{`"scalar"`, KindJSON, ""},
		{`{"items":[{"id":"1"}]}`, KindFeed, ""},
		{"<p>x", KindFeed, "no rss, rdf or feed"},
		{"<p>x", KindJSON, "not valid JSON"},
	}
	for _, test := range tests {
		core, err := Extract(Document{Body: []byte(test.body), Kind: test.kind})
		var parse *ParseError
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
		var parse *ParseError
		if core, err := Extract(Document{Body: []byte(whole[:n])}); !errors.As(err, &parse) || parse.Kind != KindJSON {
			t.Errorf("%q: %v, %v; want a JSON ParseError", whole[:n], core, err)
		}
	}
}
