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
			var ended bool
			if at, ended = scriptComment(s, at+len("<!--")); ended {
				return at
			}
		default:
			at++
		}
	}
}

// scriptComment returns where the comment in a script ends in which at stands,
// and whether the script ends there.
func scriptComment(s string, at int) (end int, ended bool) {
	dashes, inner := 2, false // inner: in a script within
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
				if !inner {
					return at, true
				}
				inner = false
				at += len("</script")
			case inner || behind == "" || behind[0] == '/':
			case beginsWithName(behind, "script"):
				inner = true
				at += len("<script")
			case !scan.IsLetter(behind[0]):
				return at + 1, false
			}
		}
		dashes = 0
	}
	return len(s), true
}
