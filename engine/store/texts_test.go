package store

import (
	"strings"
	"testing"
)

// Validators are none without an ETag or a Last-Modified, and when they are too long;
// the feed's URL stays in any case.
func TestTexts(t *testing.T) {
	long := strings.Repeat("e", MaxValidators)
	for _, tc := range []struct {
		etag, lastModified, url, feed string
		kept                          bool
	}{
		{"e", "m", "u", "f", true}, {"e", "", "u", "", true}, {"", "m", "", "f", true}, {"e", "", "", "", true},
		{"", "", "http://a.example/", "f", false}, {"", "", "", "", false},
		{long, "", "", "f", true}, {long, "m", "", "f", false}, {"e", long, "", "f", false}, {"e", "m", long, "f", false},
	} {
		texts := NewTexts(tc.etag, tc.lastModified, tc.url, tc.feed)
		want := [3]string{}
		if tc.kept {
			want = [3]string{tc.etag, tc.lastModified, tc.url}
		}
		etag, lastModified, url := texts.Validators()
		if got := [3]string{etag, lastModified, url}; got != want || texts.HasValidators() != tc.kept || texts.FeedURL() != tc.feed {
			t.Errorf("%.20q %.20q %.20q %q: validators %.20q, feed %q", tc.etag, tc.lastModified, tc.url, tc.feed, got, texts.FeedURL())
		}
	}
}

// Validators and the feed's URL are replaced apart from each other.
func TestTextsReplaced(t *testing.T) {
	texts := NewTexts("e", "m", "u", "f")
	for _, tc := range []struct {
		name      string
		got, want Texts
	}{
		{"other validators", texts.WithValidators("E", "", "U"), NewTexts("E", "", "U", "f")},
		{"no validators", texts.WithValidators("", "", "u"), NewTexts("", "", "", "f")},
		{"another feed", texts.WithFeedURL("g"), NewTexts("e", "m", "u", "g")},
		{"no feed", texts.WithFeedURL(""), NewTexts("e", "m", "u", "")},
		{"a border that moved", NewTexts("em", "", "u", "f").WithValidators("e", "m", "u"), texts},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, tc.got, tc.want)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { texts = texts.WithValidators("e", "m", "u").WithFeedURL("f") }); allocs != 0 {
		t.Errorf("%v allocations to keep the same", allocs)
	}
}
