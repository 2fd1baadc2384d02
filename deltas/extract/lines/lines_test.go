package lines

import (
	"strings"
	"testing"
)

func TestMaskTimes(t *testing.T) {
	tests := []struct{ line, want string }{
		{"Posted 3 hours ago by x", "Posted … ago by x"},
		{"an hour ago, 12 mins ago", "… ago, … ago"},
		{"long ago", "long ago"},
		{"2 hours, 5 minutes ago | 1h 5m ago | a day and 3 hours ago", "… ago | … ago | … ago"},
		{"About an hour ago; less than a minute ago; moments ago", "… ago; … ago; … ago"},
		{"Just now. It was just now", "… ago. It was … ago"},
		{"Closed for 2 weeks, or 3 days; terrace 5 days; Favor 2 days", "Closed for 2 weeks, or 3 days; terrace 5 days; Favor 2 days"},
		{"3 agonies", "3 agonies"},
		{"ten days ago", "ten days ago"},
	}
	for _, test := range tests {
		if got := maskTimes(test.line); got != test.want {
			t.Errorf("maskTimes(%q) = %q, want %q", test.line, got, test.want)
		}
	}
}

func TestSentences(t *testing.T) {
	long := strings.Repeat("Words of a sentence that is long enough. ", 8)
	tests := []struct {
		name, line string
		want       int // lines
	}{
		{"a short line stays", "One. Two. Three.", 1},
		{"a long one is broken", strings.TrimSpace(long), 8},
		{"not behind titles and initials", "By Mr. Smith and J. K. Rowling" + strings.Repeat(" and others", 30), 1},
		{"Japanese", strings.Repeat("これは文です。", 20), 20},
		{"no sentence at all", strings.Repeat("x", 3*MaxLength), 3},
		{"no UTF-8", strings.Repeat("\x89", 3*MaxLength), 3},
	}
	for _, test := range tests {
		lines := appendSentences(nil, test.line)
		if len(lines) != test.want {
			t.Errorf("%s: %d lines, want %d: %.60q", test.name, len(lines), test.want, lines)
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(test.line, " ", "") {
			t.Errorf("%s: text was lost", test.name)
		}
	}
	// An edit moves no other sentence's end.
	if a, b := appendSentences(nil, long), appendSentences(nil, "A new one. "+long); len(b) != len(a)+1 || b[1] != a[0] {
		t.Errorf("%q\n%q", a, b)
	}
}
