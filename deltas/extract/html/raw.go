package html

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// asideLength returns the length of what s begins with that is neither text nor a
// tag: a comment, a declaration, or what is taken for one.
func asideLength(s string) int {
	if body, ok := strings.CutPrefix(s, "<!--"); ok {
		return len("<!--") + commentLength(body)
	}
	if n := strings.IndexByte(s[2:], '>'); n >= 0 {
		return 2 + n + 1
	}
	return len(s)
}

// commentLength returns the length of the comment that s begins in, its end included.
func commentLength(s string) int {
	for _, end := range [...]string{">", "->"} {
		if strings.HasPrefix(s, end) {
			return len(end)
		}
	}
	for at := 0; ; {
		n := strings.Index(s[at:], "--")
		if n < 0 {
			return len(s)
		}
		for at += n + 2; at < len(s) && s[at] == '-'; at++ {
		}
		for _, end := range [...]string{">", "!>"} {
			if strings.HasPrefix(s[at:], end) {
				return at + len(end)
			}
		}
	}
}

// rawLength returns the length of the content that s begins with of an element
// that holds no markup: up to its end tag.
func rawLength(s, name string) int {
	switch name {
	case "plaintext": // never ends
		return len(s)
	case "script":
		return scriptLength(s)
	}
	for at := 0; ; at += len("</") {
		n := strings.Index(s[at:], "</")
		if n < 0 {
			return len(s)
		}
		if at += n; isEndTag(s[at+1:], name) {
			return at
		}
	}
}

// isEndTag reports that s begins with a slash and the name.
func isEndTag(s, name string) bool { return strings.HasPrefix(s, "/") && beginsWithName(s[1:], name) }

// beginsWithName reports a tag's name, in any case, and that it ends there.
func beginsWithName(s, name string) bool {
	return len(s) > len(name) && nameEnds[s[len(name)]] && strings.EqualFold(s[:len(name)], name)
}

// scriptLength is rawLength of scripts. What looks like a comment in a script may
// hold scripts, whose end tags are not its own (HTML, 13.2.5.4 and following).
func scriptLength(s string) int {
	for at := 0; ; {
		n := strings.IndexByte(s[at:], '<')
		if n < 0 {
			return len(s)
		}
		at += n
		switch behind := s[at+1:]; {
		case isEndTag(behind, "script"):
			return at
		case strings.HasPrefix(behind, "!--"):
			var ends bool
			if at, ends = scriptComment(s, at+len("<!--")); ends {
				return at
			}
		default:
			at++
		}
	}
}

// scriptComment reads what follows "<!--" in a script, from at on. It returns where the
// comment ends, or where the end tag of the script begins and true. A <script> within
// the comment has an end tag of its own, which does not count (the states "script data
// escaped" and "script data double escaped" of HTML).
func scriptComment(s string, at int) (end int, scriptEnds bool) {
	dashes, nested := 2, false // nested: in a <script> within the comment
	for ; at < len(s); at++ {
		switch s[at] {
		case '-':
			dashes++
			continue
		case '>':
			if dashes >= 2 {
				return at + 1, false
			}
		case '<':
			switch behind := s[at+1:]; {
			case isEndTag(behind, "script"):
				if !nested {
					return at, true
				}
				nested = false
				at += len("</script")
			case nested || behind == "" || behind[0] == '/':
			case beginsWithName(behind, "script"):
				nested = true
				at += len("<script")
			case !scan.IsLetter(behind[0]):
				return at + 1, false
			}
		}
		dashes = 0
	}
	return len(s), true
}
