package feed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// Row 18's kin: what a feed says of how often to ask, in every spelling that
// feeds have, comes out as it was said; what is absurd is capped or ignored.
func TestHints(t *testing.T) {
	const module = `xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"`
	tests := []struct {
		name, namespaces, head string
		want                   content.Hints
	}{
		{"nothing", "", "", content.Hints{}},
		{"ttl", "", "<ttl>60</ttl>", content.Hints{TTL: time.Hour}},
		{"ttl with white space, in capitals, with a fraction", "", "<TTL>\n 1.5 </TTL>", content.Hints{TTL: 90 * time.Second}},
		{"ttl of weeks", "", "<ttl>43200</ttl>", content.Hints{TTL: 30 * feed.Day}},
		{"ttl 0", "", "<ttl>0</ttl>", content.Hints{}},
		{"ttl below 0", "", "<ttl>-60</ttl>", content.Hints{}},
		{"ttl that is no number", "", "<ttl>1h</ttl><ttl></ttl>", content.Hints{}},
		{"ttl that is none of ours", "", "<ttl>NaN</ttl>", content.Hints{}},
		{"ttl huge", "", "<ttl>1" + strings.Repeat("0", 30) + "</ttl>", content.Hints{TTL: feed.MaxHint}},
		{"ttl beyond float64", "", "<ttl>1" + strings.Repeat("0", 400) + "</ttl>", content.Hints{TTL: feed.MaxHint}},
		{"ttl in an item", "", "<item><ttl>60</ttl></item>", content.Hints{}},
		{"period", module, "<sy:updatePeriod>hourly</sy:updatePeriod>", content.Hints{UpdatePeriod: time.Hour}},
		{"period and frequency", module, "<sy:updateFrequency> 4 </sy:updateFrequency><sy:updatePeriod>\n\tDaily </sy:updatePeriod>", content.Hints{UpdatePeriod: 6 * time.Hour}},
		{"yearly", module, "<sy:updatePeriod>yearly</sy:updatePeriod>", content.Hints{UpdatePeriod: 365 * feed.Day}},
		{"another prefix", `xmlns:x="http://purl.org/rss/1.0/modules/syndication/"`, "<x:updatePeriod>weekly</x:updatePeriod><x:updateFrequency>7</x:updateFrequency>", content.Hints{UpdatePeriod: feed.Day}},
		{"undeclared prefix", "", "<sy:updatePeriod>monthly</sy:updatePeriod>", content.Hints{UpdatePeriod: 30 * feed.Day}},
		{"namespace misspelt", `xmlns:sy="http://purl.org/rss/1.0/modules/syndication"`, "<sy:updatePeriod>weekly</sy:updatePeriod>", content.Hints{UpdatePeriod: 7 * feed.Day}},
		{"frequency alone", module, "<sy:updateFrequency>2</sy:updateFrequency>", content.Hints{}},
		{"frequency 0", module, "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", content.Hints{UpdatePeriod: time.Hour}},
		{"frequency below 0", module, "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>-2</sy:updateFrequency>", content.Hints{UpdatePeriod: time.Hour}},
		{"frequency unreadable", module, "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>often</sy:updateFrequency>", content.Hints{UpdatePeriod: time.Hour}},
		{"frequency huge", module, "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1" + strings.Repeat("0", 400) + "</sy:updateFrequency>", content.Hints{}},
		{"period unknown", module, "<sy:updatePeriod>fortnightly</sy:updatePeriod>", content.Hints{}},
		{"hours", "", "<skipHours><hour>0</hour><hour>07</hour><hour> 23 </hour></skipHours>", content.Hints{SkipHours: 1 | 1<<7 | 1<<23}},
		{"hour 24 is hour 0", "", "<skipHours><hour>24</hour></skipHours>", content.Hints{SkipHours: 1}},
		{"hours that are none", "", "<skipHours><hour>25</hour><hour>-1</hour><hour>x</hour><hour>256</hour><hour/></skipHours>", content.Hints{}},
		{"days", "", "<skipDays><day>Saturday</day><day>sunday</day><day>Tues</day></skipDays>", content.Hints{SkipDays: 1<<time.Saturday | 1<<time.Sunday | 1<<time.Tuesday}},
		{"days that are none", "", "<skipDays><day>Su</day><day>Caturday</day><day>Sundays</day><day/></skipDays>", content.Hints{}},
		{"all hours and days", "", "<skipHours>" + manyOf("hour", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23") + "</skipHours><skipDays>" +
			manyOf("day", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday") + "</skipDays>", content.Hints{SkipHours: 1<<24 - 1, SkipDays: 1<<7 - 1}},
	}
	plain := extracted.Of(t, []byte(`<rss version="2.0"><channel><title>News</title><item><guid>1</guid></item></channel></rss>`))
	for _, test := range tests {
		body := `<rss version="2.0" ` + test.namespaces + `><channel><title>News</title>` + test.head + `<item><guid>1</guid></item></channel></rss>`
		core := extracted.Of(t, []byte(body))
		if core.Hints != test.want || core.Hints.IsZero() != (test.want == content.Hints{}) {
			t.Errorf("%s: %+v, want %+v", test.name, core.Hints, test.want)
		}
		if !strings.Contains(test.head, "<item>") && (core.Hash != plain.Hash || string(core.Text) != string(plain.Text)) {
			t.Errorf("%s: hints are content:\n%s", test.name, core.Text)
		}
		if read, err := content.ParseCore(core.Text); err != nil || !read.Hints.IsZero() {
			t.Errorf("%s: read back: %+v, %v", test.name, read, err)
		}
	}
}

// RSS 1.0 and Atom carry the syndication module too.
func TestHintsOfOtherFormats(t *testing.T) {
	for name, body := range map[string]string{
		"RSS 1.0": `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:syn="http://purl.org/rss/1.0/modules/syndication/">
			<channel><title>News</title><syn:updatePeriod>hourly</syn:updatePeriod><syn:updateFrequency>2</syn:updateFrequency></channel></rdf:RDF>`,
		"Atom": `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><title>News</title>
			<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></feed>`,
	} {
		if core := extracted.Of(t, []byte(body)); core.Hints != (content.Hints{UpdatePeriod: 30 * time.Minute}) {
			t.Errorf("%s: %+v", name, core.Hints)
		}
	}
}

// manyOf returns an element for each word.
func manyOf(element, words string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(words) {
		b.WriteString("<" + element + ">" + word + "</" + element + ">")
	}
	return b.String()
}
