package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script records operations, in order: "k+" begins to subscribe k, "k-" to unsubscribe
// it, "L" to list, each as client number of its place; "2=ok" ends the operation that
// began second (counted from 0) with an outcome, "3=[a b]" a list.
func script(t *testing.T, text string) *Recorder {
	t.Helper()
	r := &Recorder{}
	var begun []Pending
	for _, word := range strings.Split(text, ", ") {
		of, answer, ended := strings.Cut(word, "=")
		if !ended {
			kind, key := List, ""
			switch word[len(word)-1] {
			case '+':
				kind, key = Subscribe, word[:len(word)-1]
			case '-':
				kind, key = Unsubscribe, word[:len(word)-1]
			}
			begun = append(begun, r.Begin(len(begun), "c", kind, key))
			continue
		}
		var i int
		if _, err := fmt.Sscan(of, &i); err != nil {
			t.Fatal(err)
		}
		switch answer {
		case "refused":
			begun[i].Refused()
		case "ok":
			begun[i].End(Done)
		default:
			if keys, list := strings.CutPrefix(answer, "["); list {
				begun[i].Listed(strings.Fields(strings.TrimSuffix(keys, "]")))
				continue
			}
			begun[i].End(Outcome(answer))
		}
	}
	return r
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, script string
		linearizable bool
	}{
		{"one after the other", "a+, 0=ok, L, 1=[a], a-, 2=ok, L, 3=[]", true},
		{"a read during a write, before", "a+, L, 1=[], 0=ok, L, 2=[a]", true},
		{"a read during a write, after", "a+, L, 1=[a], 0=ok", true},
		{"two reads during a write that disagree backwards", "a+, L, 1=[a], L, 2=[], 0=ok", false},
		{"a stale read", "a+, 0=ok, L, 1=[]", false},
		{"a stale read of a deletion", "a+, 0=ok, a-, 1=ok, L, 2=[a]", false},
		{"a lost acknowledgement", "a+, 0=ok, b+, 1=ok, L, 2=[a b], L, 3=[b]", false},
		{"a resurrection", "a+, 0=ok, a-, 1=ok, L, 2=[], L, 3=[a]", false},
		{"a deletion that comes undone by a later retry of the first request", "a+, a+, 1=ok, a-, 2=ok, L, 3=[a], 0=unknown", false},
		{"a subscription that was not asked for", "a+, 0=ok, L, 1=[a b]", false},
		{"one key twice", "a+, 0=ok, L, 1=[a a]", false},
		{"an unknown outcome, seen late", "a+, 0=unknown, L, 1=[], L, 2=[a]", true},
		{"an unknown outcome, never seen", "a+, L, 1=[], L, 2=[]", true},
		{"an unknown outcome, seen and gone", "a+, 0=unknown, L, 1=[a], L, 2=[]", false},
		{"an unknown deletion, seen late", "a+, 0=ok, a-, L, 2=[a], L, 3=[]", true},
		{"a refused request that happened", "a+, 0=refused, L, 1=[a]", false},
		{"a key again", "a+, 0=ok, a+, 1=ok, L, 2=[a]", true},
		{"a key again after its deletion", "a+, 0=ok, a-, 1=ok, a+, 2=deleted, L, 3=[]", true},
		{"a key that makes another after its deletion", "a+, 0=ok, a-, 1=ok, a+, 2=ok", false},
		{"a key that forgets that it is there", "a+, 0=ok, a+, 1=deleted", false},
		{"a deletion twice", "a+, 0=ok, a-, 1=ok, a-, 2=ok", true},
		{"a deletion of none", "a-, 0=not found, a+, 1=ok, L, 2=[a]", true},
		{"a deletion of none that says it is done", "a-, 0=ok", false},
		{"a deletion that does not find", "a+, 0=ok, a-, 1=not found", false},
		{"lists that are of no one time", "a+, b+, L, 2=[a], L, 3=[b], 0=ok, 1=ok", false},
		{"a list without an answer", "a+, 0=ok, L, 1=unknown", true},
	} {
		report := script(t, test.script).Check(time.Minute)
		if (report.Err() == nil) != test.linearizable || len(report.Undecided) > 0 {
			t.Errorf("%s: %v, undecided %v; want linearizable: %v", test.name, report.Err(), report.Undecided, test.linearizable)
		}
	}
}

func TestReport(t *testing.T) {
	r := script(t, "a+, 0=ok, b+, L, 2=[], L")
	report := r.Check(time.Minute)
	want := `1 of 1 channels: channel c is not linearizable:
  1-2 client 0: subscribe a: done
  3-… client 1: subscribe b: unknown
  4-5 client 2: list: []`
	if err := report.Err(); err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	if report.Channels != 1 || report.Operations != 3 || report.Unknown != 1 {
		t.Errorf("report %+v", report)
	}
	var page bytes.Buffer
	if err := report.Violations[0].Visualize(&page); err != nil || !strings.Contains(page.String(), "subscribe a") {
		t.Errorf("a page of %d bytes, %v", page.Len(), err)
	}
}

// store is one node that does one thing after another.
type store struct {
	mu   sync.Mutex
	keys map[string]bool // false: deleted
}

func (s *store) subscribe(key string) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if alive, used := s.keys[key]; used && !alive {
		return Deleted
	}
	s.keys[key] = true
	return Done
}

func (s *store) unsubscribe(key string) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.keys[key]; !used {
		return NotFound
	}
	s.keys[key] = false
	return Done
}

func (s *store) list() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, alive := range s.keys {
		if alive {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestConcurrent: clients of a sound store, of which some hear no answer, give a history
// that is linearizable and decided; with one stale read at its end it is not.
func TestConcurrent(t *testing.T) {
	for seed := range uint64(10) {
		s, r := &store{keys: make(map[string]bool)}, &Recorder{}
		var all sync.WaitGroup
		for client := range 6 {
			all.Go(func() { drive(s, r, client, rand.New(rand.NewPCG(seed, uint64(client)))) })
		}
		all.Wait()
		last := r.Begin(9, "c0", Subscribe, "last")
		last.End(s.subscribe("last"))
		if report := r.Check(time.Minute); report.Err() != nil || len(report.Undecided) > 0 || report.Channels != 3 || report.Unknown == 0 {
			t.Errorf("seed %d: %+v", seed, report)
		}
		stale := r.Begin(9, "c0", List, "")
		stale.Listed(of("c0", s.list()))
		if report := r.Check(time.Minute); len(report.Violations) != 1 || report.Violations[0].Channel != "c0" {
			t.Errorf("seed %d: a stale read passed: %+v", seed, report)
		}
	}
}

// of returns the keys of a channel, of which "last" is none.
func of(channel string, keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, channel+"-") })
}

func drive(s *store, r *Recorder, client int, random *rand.Rand) {
	for range 40 {
		channel := fmt.Sprintf("c%d", random.IntN(3))
		key := fmt.Sprintf("%s-%d", channel, random.IntN(12))
		lost := random.IntN(20) == 0
		switch random.IntN(3) {
		case 0:
			p := r.Begin(client, channel, Subscribe, key)
			if outcome := s.subscribe(key); !lost {
				p.End(outcome)
			}
		case 1:
			p := r.Begin(client, channel, Unsubscribe, key)
			if outcome := s.unsubscribe(key); !lost {
				p.End(outcome)
			}
		default:
			p := r.Begin(client, channel, List, "")
			p.Listed(of(channel, s.list()))
		}
	}
}

// TestUndecided: what cannot be decided in time is said to be.
func TestUndecided(t *testing.T) {
	r := &Recorder{}
	for i := range 40 { // any subset of 40 may have happened at each list
		r.Begin(i, "c", Subscribe, fmt.Sprint(i))
	}
	for i := range 40 {
		r.Begin(100+i, "c", List, "").Listed([]string{fmt.Sprint(i)})
	}
	report := r.Check(time.Nanosecond)
	if !slices.Equal(report.Undecided, []string{"c"}) || report.Err() != nil {
		t.Errorf("report %+v", report)
	}
}
