package pace

import (
	"testing"
	"time"
)

// Which answers show a host at ease, by their status: those take a refusal off.
func TestGoodAnswers(t *testing.T) {
	for status, good := range map[int]bool{0: false, 100: false, 199: false, 200: true, 304: true, 399: true, 400: false, 404: false, 500: false} {
		r := Refusals{Count: 2, Last: 1e18, Denied: 1}
		r.Note(Answer{Status: status, Begun: 1e18 + 1, Now: 1e18 + 2}, halfHour)
		if got := r.Good != 0; got != good || (r.Denied == 0) != good {
			t.Errorf("status %d: good %v, want %v: %+v", status, got, good, r)
		}
	}
}

// A refusal counts when its request began after the last refusal, and names the channel
// whose turn it was; the row is no longer than 255.
func TestRefusalCounts(t *testing.T) {
	const last = int64(1e18)
	for _, tc := range []struct {
		name   string
		begun  int64
		before uint8
		after  uint8
		turn   uint64
	}{
		{"begun before the last refusal", last - 1, 3, 3, 7},
		{"begun with it", last, 3, 3, 7},
		{"begun after it", last + 1, 3, 4, 9},
		{"the longest row but one", last + 1, 254, 255, 9},
		{"the longest row", last + 1, 255, 255, 9},
	} {
		r := Refusals{Count: tc.before, Last: last, Good: last + 1, Turn: 7}
		verdict := r.Note(Answer{Status: 429, Begun: tc.begun, Now: last + 2, Phase: 9, RetryAfter: after(time.Minute)}, halfHour)
		if verdict != HostRefuses || r.Count != tc.after || r.Turn != tc.turn || r.Good != 0 || r.Last != last+2 || r.Until != last+2+int64(time.Minute) {
			t.Errorf("%s: %d, %+v", tc.name, verdict, r)
		}
	}
}

// A shorter rest that is said later does not end a longer one.
func TestRestIsNotShortened(t *testing.T) {
	r := Refusals{Until: 1e18 + int64(time.Hour), Count: 1}
	if r.Note(Answer{Status: 429, Begun: 1e18, Now: 1e18, RetryAfter: after(time.Minute)}, halfHour); r.Until != 1e18+int64(time.Hour) {
		t.Errorf("rests for %v", time.Duration(r.Until-1e18))
	}
}

// A good answer says nothing of a host that did not refuse, nor when it was asked for
// before the refusal.
func TestGoodAnswersThatSayNothing(t *testing.T) {
	const last = int64(1e18)
	for _, tc := range []struct {
		name  string
		count uint8
		begun int64
		want  int64
	}{
		{"no refusal", 0, last + 1, 0}, {"begun before", 1, last - 1, 0}, {"begun with it", 1, last, 0}, {"begun after", 1, last + 1, last + 5},
	} {
		r := Refusals{Count: tc.count, Last: last}
		if r.Note(Answer{Status: 200, Begun: tc.begun, Now: last + 5}, halfHour); r.Good != tc.want || r.Count != tc.count {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestResting(t *testing.T) {
	r := Refusals{Until: 1e18}
	if !r.Resting(1e18-1) || r.Resting(1e18) || (&Refusals{}).Resting(0) {
		t.Error("a rest lasts until its end, which is not part of it")
	}
}

// Denied channels count up to the third, each whose last poll succeeded.
func TestDenied(t *testing.T) {
	var r Refusals
	for i, want := range []Verdict{NotRefused, NotRefused, HostRefuses, HostRefuses, HostRefuses} {
		now := int64(1e18) + int64(i)*int64(time.Hour)
		if got := r.Note(Answer{Status: 403, Begun: now, Now: now, Answered: true}, halfHour); got != want || r.Denied != uint8(min(i+1, 3)) {
			t.Errorf("403 number %d: %d, %+v", i+1, got, r)
		}
	}
}

// What is told without a delay, or with one but not given, is no delay.
func TestPauseWithoutDelay(t *testing.T) {
	for _, said := range []RetryAfter{{Given: true}, {After: time.Hour}, {After: -time.Hour, Given: true}} {
		if got := pause(said, 1, time.Minute); got != time.Minute {
			t.Errorf("%+v: %v", said, got)
		}
	}
	if got := pause(RetryAfter{After: 1, Given: true}, 3, time.Minute); got != 1 {
		t.Errorf("a nanosecond: %v", got)
	}
}

// A wall clock that was set moves what was noted, never past now, and what is awaited,
// never beyond the longest rest.
func TestRefusalsShift(t *testing.T) {
	const now, hour = int64(1e18), int64(time.Hour)
	for _, tc := range []struct {
		name string
		r    Refusals
		step int64
		want Refusals
	}{
		{"nothing noted", Refusals{Count: 1}, hour, Refusals{Count: 1}},
		{"forwards", Refusals{Until: now - hour/2, Last: now - 3*hour, Good: now - 2*hour}, hour, Refusals{Until: now + hour/2, Last: now - 2*hour, Good: now - hour}},
		{"back", Refusals{Until: now + 2*hour, Last: now, Good: now - hour}, -hour, Refusals{Until: now + hour, Last: now - hour, Good: now - 2*hour}},
		{"noted since then", Refusals{Until: now + 23*hour, Last: now, Good: now}, 2 * hour, Refusals{Until: now + 24*hour, Last: now, Good: now}},
	} {
		if tc.r.Shift(tc.step, now); tc.r != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, tc.r, tc.want)
		}
	}
}
