package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func after(d time.Duration) RetryAfter { return RetryAfter{After: d, Given: true} }

// row 18: how long a host rests, by what it says and how often it has said so.
func TestPause(t *testing.T) {
	tests := []struct {
		said     RetryAfter
		count    uint8
		interval time.Duration
		want     time.Duration
	}{
		{after(time.Second), 1, halfHour, time.Second},
		{after(time.Second), 9, halfHour, time.Second},
		{after(24 * time.Hour), 1, halfHour, 24 * time.Hour},
		{after(1 << 62), 1, halfHour, 24 * time.Hour},
		{after(0), 1, halfHour, halfHour},
		{RetryAfter{}, 1, halfHour, halfHour},
		{RetryAfter{}, 2, halfHour, time.Hour},
		{RetryAfter{}, 6, halfHour, 16 * time.Hour},
		{RetryAfter{}, 7, halfHour, 24 * time.Hour},
		{RetryAfter{}, 255, halfHour, 24 * time.Hour},
		{RetryAfter{}, 1, 6 * time.Hour, time.Hour},
		{RetryAfter{}, 1, 10 * time.Second, 10 * time.Second},
	}
	for _, test := range tests {
		if got := pause(test.said, test.count, test.interval); got != test.want {
			t.Errorf("%+v, refusal %d, interval %v: %v, want %v", test.said, test.count, test.interval, got, test.want)
		}
	}
}

func TestGapAfterRefusals(t *testing.T) {
	tests := []struct {
		count uint8
		given time.Duration
		want  time.Duration
	}{
		{0, 0, 0},
		{0, time.Second, time.Second},
		{1, 0, time.Second},
		{1, 3 * time.Second, 3 * time.Second},
		{2, 0, 2 * time.Second},
		{9, 0, 256 * time.Second},
		{10, 0, 5 * time.Minute},
		{255, 0, 5 * time.Minute},
		{3, 10 * time.Minute, 10 * time.Minute}, // more than it would grow to
	}
	for _, test := range tests {
		r := Refusals{Count: test.count}
		if got := time.Duration(r.Gap(int64(test.given))); got != test.want {
			t.Errorf("%d refusals, gap %v: %v, want %v", test.count, test.given, got, test.want)
		}
	}
}

// row 18: what an answer means to its host, one after the other. Each request
// begins a second after the last answer, or after the host's rest.
func TestRefusals(t *testing.T) {
	type step struct {
		reply Answer
		want  Verdict
		count uint8
	}
	const none = NotRefused
	tests := map[string][]step{
		"429": {
			{Answer{Status: 429}, HostRefuses, 1}, {Answer{Status: 429}, HostRefuses, 2},
			{Answer{Status: 429, Refused: true, RetryAfter: after(time.Second)}, HostRefuses, 3},
		},
		"a bare 503": {{Answer{Status: 503}, none, 0}, {Answer{Status: 503, Refused: true}, none, 0}},
		"503 of one channel behind a host that serves others": {
			{Answer{Status: 503, RetryAfter: after(time.Second)}, HostRefuses, 1},
			{Answer{Status: 503, RetryAfter: after(time.Second), Refused: true}, HostRefuses, 2},
			{Answer{Status: 200}, none, 2},
			{Answer{Status: 503, RetryAfter: after(time.Second), Refused: true}, ChannelRefuses, 2},
			{Answer{Status: 503, RetryAfter: after(time.Second)}, HostRefuses, 3}, // another's
			{Answer{Status: 503, RetryAfter: after(time.Second), Refused: true}, HostRefuses, 4},
		},
		"429 concerns the host though it serves others": {
			{Answer{Status: 429}, HostRefuses, 1}, {Answer{Status: 304}, none, 1}, {Answer{Status: 429, Refused: true}, HostRefuses, 2},
		},
		"403 with a time": {{Answer{Status: 403, RetryAfter: after(0)}, HostRefuses, 1}},
		"403 of channels that never answered": {
			{Answer{Status: 403}, none, 0}, {Answer{Status: 403}, none, 0}, {Answer{Status: 403}, none, 0}, {Answer{Status: 403}, none, 0},
		},
		"403 of one channel after the other": {
			{Answer{Status: 403, Answered: true}, none, 0}, {Answer{Status: 403, Answered: true}, none, 0},
			{Answer{Status: 404}, none, 0},
			{Answer{Status: 403, Answered: true}, HostRefuses, 1},
			{Answer{Status: 403}, HostRefuses, 2}, // until it answers well
			{Answer{Status: 200}, none, 2},
			{Answer{Status: 403}, none, 2},
		},
		"403s with others between": {
			{Answer{Status: 403, Answered: true}, none, 0}, {Answer{Status: 403, Answered: true}, none, 0},
			{Answer{Status: 304}, none, 0},
			{Answer{Status: 403, Answered: true}, none, 0},
		},
		"failures of other kinds": {{Answer{Status: 500}, none, 0}, {Answer{Status: 404}, none, 0}, {Answer{}, none, 0}},
	}
	for name, steps := range tests {
		var r Refusals
		now := int64(1e18)
		for i, step := range steps {
			a := step.reply
			a.Begun = max(now, r.Until) + 1e9
			a.Now, now = a.Begun+1e9, a.Begun+1e9
			if got := r.Note(a, halfHour); got != step.want || r.Count != step.count || r.Resting(now) != (got == HostRefuses) {
				t.Errorf("%s, answer %d: verdict %d, %+v; want %d, count %d", name, i+1, got, r, step.want, step.count)
			}
		}
	}
}

// Requests that were under way when another was refused count no further refusal,
// and their good answers are none since.
func TestRefusalsUnderWay(t *testing.T) {
	var r Refusals
	now := int64(1e18)
	r.Note(Answer{Status: 429, Begun: now, Now: now + 2e9}, halfHour)
	r.Note(Answer{Status: 429, Begun: now + 1e9, Now: now + 3e9, RetryAfter: after(time.Second)}, halfHour)
	r.Note(Answer{Status: 200, Begun: now + 2e9, Now: now + 4e9}, halfHour)
	if r.Count != 1 || r.Until != now+2e9+int64(halfHour) || r.Good != 0 {
		t.Errorf("after one refusal of two requests at a time: %+v", r)
	}
}

// Each interval of good answers takes a refusal off the row, so that the host's gap
// shrinks step by step.
func TestRefusalsForgotten(t *testing.T) {
	var r Refusals
	now := int64(1e18)
	answer := func(status int, later time.Duration) {
		now += int64(later)
		r.Note(Answer{Status: status, Begun: now, Now: now}, halfHour)
	}
	answer(429, 0)
	answer(429, time.Hour)
	answer(200, time.Hour)
	answer(304, 29*time.Minute)
	if r.Count != 2 {
		t.Errorf("within an interval: %+v", r)
	}
	answer(304, time.Minute)
	if r.Count != 1 {
		t.Errorf("after an interval: %+v", r)
	}
	answer(304, 29*time.Minute)
	if r.Count != 1 {
		t.Errorf("within the second interval: %+v", r)
	}
	answer(304, time.Minute)
	if r.Count != 0 {
		t.Errorf("after the second interval: %+v", r)
	}
	answer(429, time.Minute)
	if r.Count != 1 {
		t.Errorf("refused again: %+v", r)
	}
}

// row 18: whatever a host answers, it rests a day at most, its gap is bounded and
// at least a second after a refusal, and good answers never make it rest.
func TestRefusalsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Refusals
		now := int64(1e18)
		interval := time.Duration(rapid.Int64Range(1e9, 48*3600e9).Draw(t, "interval"))
		for range rapid.IntRange(1, 30).Draw(t, "answers") {
			now += rapid.Int64Range(1, 48*3600e9).Draw(t, "passed")
			before := r.Until
			a := Answer{
				Status:   rapid.SampledFrom([]int{0, 200, 304, 301, 403, 404, 429, 500, 503}).Draw(t, "status"),
				Begun:    now - rapid.Int64Range(0, 60e9).Draw(t, "took"),
				Now:      now,
				Answered: rapid.Bool().Draw(t, "answered"),
				Refused:  rapid.Bool().Draw(t, "refused"),
			}
			if rapid.Bool().Draw(t, "given") {
				a.RetryAfter = after(time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "after")))
			}
			verdict := r.Note(a, interval)
			if verdict == HostRefuses && !r.Resting(now) || verdict != HostRefuses && r.Until != before {
				t.Fatalf("verdict %d, %+v", verdict, r)
			}
			if r.Until > now+int64(LongestRest) {
				t.Fatalf("rests for %v", time.Duration(r.Until-now))
			}
			given := rapid.Int64Range(0, 600e9).Draw(t, "gap")
			if gap := r.Gap(given); gap < given || r.Count > 0 && gap < 1e9 || gap > max(given, 300e9) {
				t.Fatalf("gap %v, given %v, %+v", time.Duration(gap), time.Duration(given), r)
			}
		}
	})
}
