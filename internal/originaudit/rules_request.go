package originaudit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checkRequest finds what a request does wrong whatever was said before.
func (t *trial) checkRequest(e *Exchange) {
	if e.Method != "GET" {
		t.find(e, Method, "%s: a reader needs only GET", e.Method)
	}
	if e.Proto != "HTTP/1.1" {
		t.find(e, Protocol, "%s", e.Proto)
	}
	if hosts := e.Fields.Values("Host"); len(hosts) != 1 || hosts[0] != e.Host {
		t.find(e, Protocol, "Host %q, asked at %s", hosts, e.Host)
	}
	if why := dishonest(e.Fields.Values("User-Agent"), t.policy.Contact); why != "" {
		t.find(e, Agent, "%q: %s", e.Fields.Values("User-Agent"), why)
	}
	if coding := e.Fields.Values("Accept-Encoding"); !slices.ContainsFunc(coding, acceptsGzip) {
		t.find(e, Encoding, "Accept-Encoding %q", coding)
	}
	for _, field := range e.Fields {
		t.checkField(e, field)
	}
}

// needed are the fields that polling takes, in lower case.
var needed = map[string]bool{
	"host": true, "user-agent": true, "accept": true, "accept-encoding": true, "connection": true, "from": true,
	"if-none-match": true, "if-modified-since": true, "a-im": true,
}

func (t *trial) checkField(e *Exchange, field Field) {
	switch name := strings.ToLower(field.Name); {
	case name == "cookie" || name == "cookie2":
		t.find(e, Cookie, "%s: %s", field.Name, field.Value)
	case name == "referer":
		t.find(e, Referer, "%s", field.Value)
	case !needed[name]:
		t.find(e, NeedlessField, "%s: %s", field.Name, field.Value)
	}
}

// agentForm is product/version with a comment that holds an address: of a page
// (after a plus sign, as crawlers write it) or of a mailbox.
var agentForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9._-]*)/[^\s()]+ \([^()]*(?:\+https?://[^\s;()]+|[^\s;()]+@[^\s;()]+)[^()]*\)$`)

// strangers are products that a reader is not: browsers, and libraries whose name
// says nothing of who uses them.
var strangers = []string{
	"mozilla", "opera", "go-http-client", "fasthttp", "curl", "wget", "python-requests", "python-urllib",
	"java", "okhttp", "axios", "node-fetch", "libwww-perl",
}

// dishonest says what is wrong with the values of User-Agent, "" if nothing is.
func dishonest(values []string, contact string) string {
	if len(values) != 1 {
		return "want one"
	}
	parts := agentForm.FindStringSubmatch(values[0])
	switch {
	case parts == nil:
		return "want product/version (+contact)"
	case slices.Contains(strangers, strings.ToLower(parts[1])):
		return "another program's name"
	case !strings.Contains(values[0], contact):
		return fmt.Sprintf("want the contact %q", contact)
	}
	return ""
}

// acceptsGzip reads one value of Accept-Encoding.
func acceptsGzip(value string) bool {
	for coding := range strings.SplitSeq(value, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		weight = strings.ReplaceAll(strings.TrimSpace(weight), " ", "")
		refused := strings.HasPrefix(weight, "q=0") && strings.Trim(weight[3:], ".0") == ""
		if strings.EqualFold(strings.TrimSpace(name), "gzip") && !refused {
			return true
		}
	}
	return false
}
