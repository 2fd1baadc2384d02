package channels

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

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
		{api.Channel{LastPoll: clitest.At(1), LastStatus: 200}, "no content that could be kept so far"},
		{api.Channel{LastPoll: clitest.At(1)}, "under way"},
		{api.Channel{LastPoll: clitest.At(1), LastStatus: 304, Version: 3, Kind: "html", SizeBytes: 9}, "html of 9 bytes, now at version 3"},
	}
	for _, test := range tests {
		if got := Finding(&test.channel); got != test.want {
			t.Errorf("finding(%+v) = %s, want %s", test.channel, got, test.want)
		}
	}
}
