package streak

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"pgregory.net/rapid"
)

// keeper asks a streak and goes by what follows.
type keeper struct {
	Streak
	now   time.Time
	given uint64
}

func newKeeper() *keeper {
	return &keeper{Streak: Streak{Record: channel.Endpoint{URL: sinkA}}, now: epoch2000}
}

const longest = 30 * time.Second

func (k *keeper) ask(q Question) (a Answer) {
	k.given++
	k.Streak, a = k.Answer(q, k.now, k.given, longest)
	return a
}

// wants asks for a grant.
func (k *keeper) wants(from uint64) Answer { return k.ask(Question{From: from, Wants: true}) }

func (k *keeper) fails(from uint64, works bool, grant uint64) Answer {
	return k.ask(Question{From: from, Works: works, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Grant: grant}}})
}

// suspend lets an endpoint fail through the schedule.
func (k *keeper) suspend() {
	k.fails(1, true, 0)
	for k.Record.State == channel.EndpointActive {
		k.now = k.Record.NextAttempt
		k.fails(1, false, k.wants(1).Grant)
	}
}

func (k *keeper) want(t *testing.T, what string, attempts int) {
	t.Helper()
	if k.Record.Attempts != attempts {
		t.Errorf("%s: %+v, want %d steps", what, k.Record, attempts)
	}
}

// Requests that were under way together are one step, whichever deliverers they are of.
func TestFailuresThatCount(t *testing.T) {
	k := newKeeper()
	k.fails(1, true, 0)
	k.want(t, "the first failure", 1)
	k.fails(2, true, 0)
	k.want(t, "of another deliverer, which thought that it works", 1)
	k.fails(1, false, 0)
	k.want(t, "of a request that was under way", 1)
	k.now = k.Record.NextAttempt
	grant := k.wants(2).Grant
	k.fails(2, false, grant+1)
	k.want(t, "of a grant that is not out", 1)
	k.fails(2, false, grant)
	k.want(t, "of the grant", 2)
	k.fails(2, false, grant)
	k.want(t, "of the grant, told again", 2)
	healthy := newKeeper()
	healthy.fails(1, false, 0)
	healthy.want(t, "of a deliverer that does not know that the endpoint works again", 0)
}

// One deliverer at a time has a grant, until its outcome, or until its request must be
// over.
func TestGrants(t *testing.T) {
	k := newKeeper()
	if a := k.wants(1); a.Grant != 0 || a.Again != 0 {
		t.Errorf("of an endpoint that works: %+v", a)
	}
	k.fails(1, true, 0)
	if a := k.wants(1); a.Grant != 0 || a.Again != k.Record.NextAttempt.Sub(k.now) {
		t.Errorf("before the next step: %+v", a)
	}
	k.now = k.Record.NextAttempt
	first := k.wants(1)
	if first.Grant == 0 {
		t.Fatalf("at the next step: %+v", first)
	}
	if a := k.wants(2); a.Grant != 0 || a.Again != AgainBusy {
		t.Errorf("while it is out: %+v", a)
	}
	if a := k.wants(1); a.Grant != first.Grant {
		t.Errorf("to the same deliverer, whose answer was lost: %+v, want grant %d", a, first.Grant)
	}
	k.ask(Question{From: 1, Unused: first.Grant})
	second := k.wants(2)
	if second.Grant == 0 {
		t.Error("none after the first was given back")
	}
	k.now = k.now.Add(Start + longest - 1)
	if a := k.wants(1); a.Grant != 0 {
		t.Errorf("while the request may be under way: %+v", a)
	}
	k.now = k.now.Add(1)
	third := k.wants(1)
	if third.Grant == 0 {
		t.Error("none after the second one's time")
	}
	k.fails(2, false, second.Grant)
	k.want(t, "an outcome of a grant that is over", 1)
	k.ask(Question{From: 1, Outcomes: []Outcome{{Grant: third.Grant}}})
	if !k.Record.Healthy() {
		t.Errorf("after a success: %+v", k.Record)
	}
}

// Until a Retry-After has passed, no request ends a streak but that of a grant, or a test.
func TestRetryAfterRuns(t *testing.T) {
	wait := func() *keeper {
		k := newKeeper()
		k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no", RetryAfter: time.Hour}}}})
		return k
	}
	k := wait()
	if until := k.Record.NextAttempt.Sub(k.now); until != time.Hour {
		t.Errorf("the next try comes after %s, want an hour", until)
	}
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: k.now}}})
	k.want(t, "another request succeeded", 1)
	k.ask(Question{From: 2, Outcomes: []Outcome{{Tested: true}}})
	k.want(t, "a test succeeded", 0)
	k = wait()
	k.now = k.Record.NextAttempt
	grant := k.wants(1).Grant
	k.ask(Question{From: 2, Outcomes: []Outcome{{Failed: &Failure{Text: "no", RetryAfter: time.Hour}}}})
	if a := k.wants(1); a.Grant != 0 {
		t.Errorf("another request was told to wait: %+v", a)
	}
	k.ask(Question{From: 1, Outcomes: []Outcome{{Grant: grant}}})
	k.want(t, "the request of a grant that had ended", 1)
}

// An acknowledgement ends a streak if its request began after each that has failed: not
// one that is told late.
func TestEarlierRequestSucceeds(t *testing.T) {
	k := newKeeper()
	at := func(ms int) time.Time { return k.now.Add(time.Duration(ms-100) * time.Millisecond) }
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Began: at(10)}}})
	k.ask(Question{From: 2, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Began: at(20)}}})
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Began: at(5)}}})
	for _, ms := range []int{9, 15, 20} {
		k.ask(Question{From: 2, Outcomes: []Outcome{{Began: at(ms)}}})
		k.want(t, "an earlier request was acknowledged", 1)
	}
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: at(21)}}})
	k.want(t, "a later one was", 0)
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Began: at(15)}}})
	k.want(t, "one that began before it had failed", 0)
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no"}, Began: at(22)}}})
	k.want(t, "one that began later did", 1)
	k.ask(Question{From: 1, Outcomes: []Outcome{{Began: at(23)}}})
	k.want(t, "one of the next streak was acknowledged", 0)
}

// A 410 that is told after a subscription has revived the endpoint, of a request of before,
// does not disable it again.
func TestGoneToldLate(t *testing.T) {
	k := newKeeper()
	gone := func() Answer {
		return k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Gone: true, Text: "410"}, Began: epoch2000}}})
	}
	gone()
	k.now = k.now.Add(time.Second)
	k.ask(Question{From: 2, Created: k.now})
	if a := gone(); !a.Record.Works() {
		t.Errorf("told again: %+v", a.Record)
	}
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Gone: true, Text: "410"}, Began: k.now}}})
	if k.Record.State != channel.EndpointDisabled {
		t.Errorf("of a request of after: %+v", k.Record)
	}
}

// A keeper that takes over a record does not take what was under way for news.
func TestResume(t *testing.T) {
	k := newKeeper()
	k.ask(Question{From: 1, Works: true, Outcomes: []Outcome{{Failed: &Failure{Text: "no", RetryAfter: time.Hour}, Began: k.now}}})
	began := k.now.Add(time.Second)
	k.now = began.Add(time.Second)
	k.Streak = Resume(k.Record, k.now)
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: began}}})
	k.want(t, "a request of before was acknowledged", 1)
	k.now = k.now.Add(time.Minute)
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: k.now}}})
	k.want(t, "one of within the Retry-After was", 1)
	k.now = k.Record.NextAttempt
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: k.now}}})
	k.want(t, "one of after it was", 0)
}

// A try that the keeper before has granted ends the streak at the next keeper too. Of a suspended
// endpoint it does not: what its gap declared lost is not known.
func TestResumeDuringTry(t *testing.T) {
	k := newKeeper()
	k.fails(1, true, 0)
	k.now = k.Record.NextAttempt.Add(time.Second)
	began := k.now
	k.wants(1)
	k.now = k.now.Add(time.Second)
	k.Streak = Resume(k.Record, k.now)
	k.ask(Question{From: 2, Outcomes: []Outcome{{Began: k.Record.NextAttempt.Add(-time.Millisecond)}}})
	k.want(t, "a request of before the try was due was acknowledged", 1)
	k.ask(Question{From: 1, Outcomes: []Outcome{{Began: began, Grant: 77}}})
	k.want(t, "the try was", 0)

	k = newKeeper()
	k.suspend()
	k.now = k.Record.NextAttempt.Add(time.Second)
	began = k.now
	k.now = k.now.Add(time.Second)
	k.Streak = Resume(k.Record, k.now)
	k.ask(Question{From: 1, Outcomes: []Outcome{{Began: began, Grant: 77}}})
	if k.Record.State != channel.EndpointSuspended {
		t.Errorf("revived by a try that another keeper has granted: %+v", k.Record)
	}
}

// What was committed before the request that a suspended endpoint took is lost, and before
// the subscription that revives a disabled one.
func TestLostUntil(t *testing.T) {
	k := newKeeper()
	k.suspend()
	k.now = k.Record.NextAttempt
	granted, a := stamp(k.now), k.wants(1)
	if !a.LostUntil.Equal(granted) {
		t.Errorf("the request declares lost what was before %s, want %s", a.LostUntil, granted)
	}
	k.now = k.now.Add(20 * time.Second)
	k.ask(Question{From: 1, Outcomes: []Outcome{{Grant: a.Grant}}})
	if !k.Record.Works() || !k.Record.LostUntil.Equal(granted) {
		t.Errorf("%+v, want one that works, lost until %s", k.Record, granted)
	}
	k.fails(1, true, 0)
	k.now = k.Record.NextAttempt
	if a := k.wants(1); !a.LostUntil.Equal(granted) {
		t.Errorf("the try of a later streak: %+v", a)
	}
	k.ask(Question{From: 1, Outcomes: []Outcome{{Failed: &Failure{Gone: true, Text: "gone"}}}})
	created := k.now.Add(time.Hour)
	k.ask(Question{From: 1, Outcomes: []Outcome{{}}, Created: k.now})
	if k.Record.State != channel.EndpointDisabled {
		t.Errorf("revived by a success, or by an older subscription: %+v", k.Record)
	}
	k.now = k.now.Add(2 * time.Hour)
	k.ask(Question{From: 1, Created: created})
	if !k.Record.Works() || !k.Record.LostUntil.Equal(created) {
		t.Errorf("%+v, want one that works, lost until %s", k.Record, created)
	}
	if at := Forgets(k.Record); !at.Equal(created.Add(KeepLost)) {
		t.Errorf("forgotten at %s", at)
	}
}

// Two questions that are asked as one have the outcome that they would have one after the
// other, from any state.
func TestMergeProperty(t *testing.T) {
	outcome := rapid.Custom(func(t *rapid.T) (o Outcome) {
		switch rapid.IntRange(0, 3).Draw(t, "outcome") {
		case 0:
			o.Failed = &Failure{Text: "no", Gone: rapid.IntRange(0, 5).Draw(t, "gone") == 0}
		case 1:
			o.Failed = &Failure{Text: "no", RetryAfter: time.Hour}
		case 2:
			o.Tested = true
		}
		o.Began = epoch2000.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "began")) * time.Second)
		return o
	})
	question := rapid.Custom(func(t *rapid.T) Question {
		return Question{From: 1, Outcomes: rapid.SliceOfN(outcome, 0, 3).Draw(t, "outcomes")}
	})
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper()
		if rapid.Bool().Draw(t, "failing") {
			k.suspend()
		}
		first, second := question.Draw(t, "first"), question.Draw(t, "second")
		first.Works = k.Record.Works()
		second.Works = first.Works
		merged := *k
		merged.ask(Merge(first, second))
		k.ask(first)
		k.ask(second)
		if k.Record != merged.Record {
			t.Fatalf("one after the other %+v, as one %+v", k.Record, merged.Record)
		}
	})
}
