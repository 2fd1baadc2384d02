package deltas

import (
	"testing"
	"time"
)

func TestCutDate(t *testing.T) {
	for line, want := range map[string]string{
		"PA COVID-19 Update – March 18, 2020": "PA COVID-19 Update – …",
		"Sunday, 22 November 2026, 14:05":     "…",
		"2026-11-22T14:05:09Z":                "…",
		"November 22nd, 2026 - Daily brief":   "… - Daily brief",
		"title: News (22.11.2026)":            "title: News …",
		"Today is Sunday, November 22":        "Today is …",
		"News – 22 Nov, 9am":                  "News – …",
		"Corona – 1.3 (2026-11-22)":           "Corona – 1.3 …", // a number that is no part of the date
		"Cases – 512 (March 18)":              "Cases – 512 …",

		"Deadline: March 18, 2020":              "",
		"The office is closed on March 18":      "",
		"Next meeting | March 18, 2020":         "",
		"March 18: schools are closed":          "",
		"Page last updated on March 18, 2020":   "",
		"Update – second part":                  "",
		"Oil – 28.5 18 March 2020":              "",
		"Oil – 28 18 March 2020":                "",
		"Home - Away, 2-1 18.3.2020":            "",
		"She was born in 1980 and moved in May": "",
	} {
		if heading, _, ok := cutDate(line); heading != want || ok != (want != "") {
			t.Errorf("cutDate(%q) = %q, want %q", line, heading, want)
		}
	}
}

func TestIsDay(t *testing.T) {
	look := time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)
	for date, want := range map[string]bool{
		"November 22, 2026": true, "22nd of Nov": true, "2026-11-22": true, "11/22/2026": true, "22.11.2026": true, "2026-11-22T05:00:00Z": true,
		"November 21, 2026": true, "November 23, 2026": true, // yesterday's page, tomorrow in Kiribati
		"21.11.2026": true, "Nov 23": true, "13/45/2026": false, "2026-13-22": false,
		"November 20, 2026": false, "November 24, 2026": false, "November 22, 2025": false, "22 2026": false, "November 2026": false, "12/22/2026": false, "Sunday": false,
	} {
		if got := isDay(date, look); got != want {
			t.Errorf("isDay(%q) = %v", date, got)
		}
	}
}

func TestIsAhead(t *testing.T) {
	look := time.Date(2026, 12, 30, 13, 0, 0, 0, time.UTC)
	for date, want := range map[string]bool{
		"January 2": true, "2027-01-02": true, "13.1.2027": true, "2 January 2027": true, "January 1": true,
		"December 31": false, "December 1": false, "January 2, 2026": false, "12/31/2026": false, "Sunday": false,
	} {
		if got := isAhead(date, look); got != want {
			t.Errorf("isAhead(%q) = %v", date, got)
		}
	}
}

// A heading's date that moves on to the day of the look is no news; one that moves
// elsewhere, or to today from a day ahead, is.
func TestJudgeHeadingDates(t *testing.T) {
	page := func(day int, text string) string {
		return pageOf(time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).Format("Update – January 2, 2006"), text)
	}
	day := int(24 * time.Hour / usualGap)
	from := int(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC).Sub(epoch) / usualGap)
	var o owner
	got := ""
	for n, body := range []string{page(5, "a"), page(6, "a"), page(7, "a"), page(8, "b"), page(8, "b"), page(20, "b"), page(11, "b"), page(12, "b")} {
		got += looks(t, &o, from+n*day, body)
	}
	if want := "puupuppu"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Beside news dates are shown as they are: which story has which is news too.
func TestHeadingDatesOfStories(t *testing.T) {
	from := int(time.Date(2026, 1, 4, 12, 0, 0, 0, time.UTC).Sub(epoch) / usualGap)
	var o owner
	looks(t, &o, from, pageOf("2026-01-04", "Story 2.", "2026-01-03", "Story 1."))
	next := mustExtract(t, []byte(pageOf("2026-01-05", "Story 3.", "2026-01-04", "Story 2.")))
	d := Judge(o.state, o.seen, o.base, Observation{Begun: epoch.Add(time.Duration(from+48) * usualGap), Core: next})
	want := "@@ -2,0 +3,2 @@\n+2026-01-05\n+Story 3.\n@@ -5,2 +6,0 @@\n-2026-01-03\n-Story 1.\n"
	if u := d.Noise.Compare(o.base, next); d.Verdict != VerdictPublish || u.Diff != want {
		t.Errorf("%v, %q", d.Verdict, u.Diff)
	}
}
