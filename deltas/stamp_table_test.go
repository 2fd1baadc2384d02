package deltas

import (
	"strings"
	"testing"
)

// What of a line is the date of a build stamp.
func TestStampsOfLines(t *testing.T) {
	long := "Last updated: March 5, 2026 " + strings.Repeat("x", 172)
	for _, tc := range []struct{ line, want string }{
		{"Last updated: March 5, 2026", "Last updated: …"},
		{"LAST UPDATED 5 March", "LAST UPDATED …"},
		{"Last updated on 5.3.2026 at 12:30", "Last updated on …"},
		{"last modified 5/3 by 7 people", "last modified … by 7 people"},
		{"Generated 5 seconds", "Generated …"},
		{"Generated in 5 ms and more", "Generated in … and more"},
		{"Generated and sent 5", "Generated and sent 5"},
		{"Scraped: 12:30 UTC. Rendered: 5", "Scraped: … Rendered: 5"},
		{"Retrieved March", "Retrieved March"},
		{"Refreshed at 5", "Refreshed at …"},
		{"The last 5", "The last 5"},
		{"at last, updated 5", "at last, updated …"},
		{"lastly updated 5", "lastly updated 5"},
		{"at last", "at last"},
		{"5 at last", "5 at last"},
		{"The news of 7 March, last checked 8 March", "The news of 7 March, last checked …"},
		{"Last built (March 5)", "Last built …"},
		{"Last changed:  5", "Last changed:  …"},
		{"last updated on", "last updated on"},
		{"", ""},
		{long[:maxStampLine], "Last updated: … " + strings.Repeat("x", 172)},
		{long + "x", long + "x"},
	} {
		if got := maskStamp(tc.line); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.line, got, tc.want)
		}
		if got := hasStamps(tc.line); got != (tc.line != tc.want) {
			t.Errorf("%q: has stamps %v", tc.line, got)
		}
		for _, around := range []string{"a\n" + tc.line, "a\n" + tc.line + "\nb\n", "It was last seen.\n" + tc.line + "\n7 rendered\n"} {
			if got := hasStamps(around); got != (tc.line != tc.want) {
				t.Errorf("%q: has stamps %v", around, got)
			}
		}
	}
}

// Only short lines with a digit and one of the words that announce stamps are looked at.
func TestLinesThatMayStamp(t *testing.T) {
	for line, want := range map[string]bool{
		"last 5": true, "5 last": true, "last": false, "5": false, "": false, "generateD 5": true, "rendere 5": false, "xrendered5": true,
		"refreshed 5" + strings.Repeat(".", maxStampLine-11): true, "refreshed 5" + strings.Repeat(".", maxStampLine-10): false,
	} {
		if got := mayStamp(line); got != want {
			t.Errorf("mayStamp(%q) = %v", line, got)
		}
	}
}

// The place behind the first hint is found wherever it stands.
func TestHintEnds(t *testing.T) {
	for _, hint := range stampHints {
		for before := range 24 {
			for after := range 3 {
				s := strings.Repeat("x", before) + strings.ToUpper(hint[:1]) + hint[1:] + strings.Repeat("y", after)
				if got := hintEnd(s); got != before+len(hint) {
					t.Fatalf("%q: %d, want %d", s, got, before+len(hint))
				}
			}
		}
		for _, cut := range []string{hint[1:], hint[:len(hint)-1], strings.Repeat("x", 7) + hint[1:], "feed st ed " + hint[1:]} {
			if got := hintEnd(cut); got != 0 {
				t.Errorf("%q: %d", cut, got)
			}
		}
	}
	if got := hintEnd("test fed best, last and rendered"); got != len("test fed best, last") {
		t.Errorf("the first of two: %d", got)
	}
}

// Which stamps speak of the page alone.
func TestStampsOfPages(t *testing.T) {
	for stamp, want := range map[string]bool{
		"Page generated": true, "This page was last updated": true, "The site is scraped": true, "Our website: last": true,
		"Page": false, "page the": false, "last page": false, "Page of news last": false, "generated": false, "the": false, "Page - last": true,
	} {
		if got := saysPage(stamp); got != want {
			t.Errorf("saysPage(%q) = %v", stamp, got)
		}
	}
}
