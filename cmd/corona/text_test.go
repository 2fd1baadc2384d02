package main

import (
	"bytes"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

func TestClean(t *testing.T) {
	tests := []struct{ text, want string }{
		{"plain äöü 日本 🙂", "plain äöü 日本 🙂"},
		{"a\nb\tc", "a b c"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\u009b31m", `\u009b31m`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"\xff", `\ufffd`},
		{"\r\x00\x7f", `\r\x00\x7f`},
		{"\u2028", `\u2028`},
	}
	for _, test := range tests {
		if got := clean(test.text); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	tests := []struct{ text, want string }{
		{"https://a.example/x_y-z?", "'https://a.example/x_y-z?'"},
		{"https://a.example/~x", "'https://a.example/~x'"},
		{"https://a.example/x,y:z%20=+@", "https://a.example/x,y:z%20=+@"},
		{"a'b", `'a'\''b'`},
		{"$(x)", "'$(x)'"},
		{"", "''"},
		{"ä", "'ä'"},
	}
	for _, test := range tests {
		if got := shellWord(test.text); got != test.want {
			t.Errorf("shellWord(%q) = %s, want %s", test.text, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	tests := []struct {
		x    float64
		want string
	}{
		{0, "0"}, {6, "6"}, {24000, "24000"}, {1. / 48, "0.021"}, {0.5, "0.500"}, {12.34, "12.3"}, {22000.5, "22000"}, {100.7, "101"},
	}
	for _, test := range tests {
		if got := number(test.x); got != test.want {
			t.Errorf("number(%v) = %s, want %s", test.x, got, test.want)
		}
	}
}

// TestColours: what colours paint is clean, and nothing is painted without.
func TestColours(t *testing.T) {
	var plain, painted bytes.Buffer
	for buffer, colour := range map[*bytes.Buffer]bool{&plain: false, &painted: true} {
		printer := newUpdatePrinter(buffer)
		if printer.colour {
			t.Error("colours on what is no terminal")
		}
		printer.colour = colour
		for _, update := range fakeUpdates() {
			if err := printer.update(&update); err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("colours without being asked for: %q", plain.String())
	}
	for _, want := range []string{
		"\x1b[32m  + Announcing \\x1b[2J\\u202e1.99\x1b[0m\n", "\x1b[33m  ~ Second", "\x1b[31m  - tag:3\x1b[0m",
		"    \x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n", "    \x1b[31m-title First\x1b[0m\n", "    \x1b[32m+title Second\\a\x1b[0m\n",
	} {
		if !strings.Contains(painted.String(), want) {
			t.Errorf("no %q in %q", want, painted.String())
		}
	}
}

func TestInARow(t *testing.T) {
	for times, want := range map[int]string{1: "once", 2: "2 times in a row"} {
		if got := inARow(times); got != want {
			t.Errorf("inARow(%d) = %s, want %s", times, got, want)
		}
	}
}

// TestChangesText: a week is what nodes say when they do not know.
func TestChangesText(t *testing.T) {
	tests := []struct {
		version   uint64
		intervalS float64
		want      string
	}{
		{0, 604800, "not known yet"}, {2, 604800, "not known yet"}, {3, 604800, "7 d"}, {2, 5400, "1 h 30 min"},
	}
	for _, test := range tests {
		if got := changesText(&api.Channel{Version: test.version, UpdateIntervalS: test.intervalS}); got != test.want {
			t.Errorf("changes of version %d every %v s: %s, want %s", test.version, test.intervalS, got, test.want)
		}
	}
}

// TestRateText: nothing is said of pollers where there are none.
func TestRateText(t *testing.T) {
	tests := []struct {
		channel api.Channel
		want    string
	}{
		{api.Channel{Pollers: []string{}}, "not at all"},
		{api.Channel{Rate: 2, Width: 1, Pollers: []string{"n1"}, PollIntervalS: 900}, "2 times an interval (every 15 min), by 1 poller: n1"},
		{api.Channel{Rate: 0.25, Width: 1, Pollers: []string{"n1"}, PollIntervalS: 7200}, "every 4 intervals (2 h), by 1 poller: n1"},
	}
	for _, test := range tests {
		if got := rateText(&test.channel); got != test.want {
			t.Errorf("rateText(%+v) = %s, want %s", test.channel, got, test.want)
		}
	}
}

func TestFinding(t *testing.T) {
	tests := []struct {
		channel api.Channel
		want    string
	}{
		{api.Channel{Gone: true, LastError: "x"}, "the origin answered 410"},
		{api.Channel{LastError: "timeout", LastStatus: 200}, "failed: timeout"},
		{api.Channel{LastStatus: 404, Version: 3}, "the origin answered 404"},
		{api.Channel{LastPoll: at(1), LastStatus: 200}, "no content that could be kept so far"},
		{api.Channel{LastPoll: at(1)}, "under way"},
		{api.Channel{LastPoll: at(1), LastStatus: 304, Version: 3, Kind: "html", SizeBytes: 9}, "html of 9 bytes, now at version 3"},
	}
	for _, test := range tests {
		if got := finding(&test.channel); got != test.want {
			t.Errorf("finding(%+v) = %s, want %s", test.channel, got, test.want)
		}
	}
}

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-20T09:35:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	tests := []struct {
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		{"", info, "corona v1.2.3 (0123456789ab, modified) go"},
		{"v9", info, "corona v9 (0123456789ab, modified) go"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "corona devel go"},
		{"", &debug.BuildInfo{}, "corona devel go"},
	}
	for _, test := range tests {
		if got := buildOf(test.stamped, test.info); !strings.HasPrefix(got.String(), test.want) {
			t.Errorf("buildOf(%q) = %s, want %s…", test.stamped, got, test.want)
		}
	}
	if got := runCorona(t.Context(), "", "version", "--json"); got.code != exitDone || !strings.Contains(got.out, `"version": "`+versionText()+`"`) {
		t.Errorf("version --json: %+v", got)
	}
}

func TestExitCode(t *testing.T) {
	no := &exitError{code: exitNo}
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("x"), exitUsage},
		{no, exitNo},
		{errors.Join(errors.New("x"), no), exitNo},
		{nodeError(errors.New("x")), exitUnreachable},
		{nodeError(nil), exitDone},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
	if no.Error() != "" {
		t.Errorf("an exit code alone says %q", no)
	}
}

func TestPollsText(t *testing.T) {
	for rate, want := range map[float64]string{6: "6 polls", 1: "1 poll", 1.0 / 3: "1/3 polls"} {
		if got := pollsText(rate); got != want {
			t.Errorf("pollsText(%v) = %s, want %s", rate, got, want)
		}
	}
}

// TestExplainNew: a channel that no solve has seen has no weight to speak of.
func TestExplainNew(t *testing.T) {
	why := explanation{&api.Explanation{Policy: "lite", DecidedBy: api.DecidedByStart, Factors: api.Factors{Subscribers: 3, UpdateIntervalS: 60}}}
	if got, want := why.factors(), "3 subscribers; changes every 1 min"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
