//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

const second = time.Second

// Waits are those of changes at any instant: of polls a gap apart half of it, of uneven
// ones more.
func TestWait(t *testing.T) {
	times := timeline{{1 * second, 3 * second, 5 * second, 7 * second}, {0, 3 * second, 4 * second, 7 * second}, {0, 6 * second}}
	for channel, want := range []time.Duration{second, 7 * second / 6, 3 * second} {
		if got, ok := times.wait(channel, 1*second, 7*second); channel < 2 && (!ok || (got-want).Abs() > time.Millisecond) {
			t.Errorf("channel %d: %s, %t; want %s", channel, got, ok, want)
		}
	}
	// From 2 s on it takes until 6 s: 3 s on average over two seconds.
	if got, ok := times.wait(2, 2*second, 4*second); !ok || got != 3*second {
		t.Errorf("between polls: %s, %t", got, ok)
	}
	if _, ok := times.wait(2, 5*second, 7*second); ok {
		t.Error("a wait without a poll behind it")
	}
	places := []place{{subscribers: 3}, {subscribers: 1}, {subscribers: 4}}
	mean, left := times.waits(places, 1*second, 7*second)
	if want := (3*second + 7*second/6) / 4; (mean-want).Abs() > time.Millisecond || left != 0.5 {
		t.Errorf("together %s, %g left; want %s, a half", mean, left, want)
	}
}

// A host may be asked as often as its cap within any interval, wherever that begins.
func TestOverCaps(t *testing.T) {
	places := []place{{host: 7}, {host: 7}, {host: 8}}
	var polls []poll
	for n := range 30 {
		polls = append(polls, poll{at: time.Duration(n) * second, channel: int32(n % 2), node: int8(n % 3)})
	}
	polls = append(polls, poll{at: 3 * second, channel: 2})
	if lines := overCaps(places, polls, 10*second, 10); len(lines) > 0 {
		t.Errorf("at its cap: %v", lines)
	}
	polls = append(polls, poll{at: 20*second + 500*time.Millisecond, channel: 1, node: 4})
	if lines := overCaps(places, polls, 10*second, 10); len(lines) != 1 || !strings.Contains(lines[0], "host 7 was asked 11 times") {
		t.Errorf("one more: %v", lines)
	}
}

func TestLoads(t *testing.T) {
	var polls []poll
	for n := range 40 {
		polls = append(polls, poll{at: time.Duration(n) * second / 2})
	}
	polls = append(polls, poll{at: 9*second + 1})
	counts := loads(polls, span{2 * second, 12 * second}, 5*second)
	if len(counts) != 6 || counts[0] != 10 || counts[5] != 11 {
		t.Errorf("loads %v", counts)
	}
}

func TestFullAnswers(t *testing.T) {
	polls := []poll{
		{at: 1 * second, revision: 2, full: true}, // before the span
		{at: 3 * second, revision: 2, full: true}, // again
		{at: 4 * second, revision: 3, full: true},
		{at: 5 * second, revision: 3},
		{at: 5 * second, revision: 3, full: true, node: 1},
		{at: 6 * second, channel: 1, revision: 1, full: true}, // its first content
		{at: 9 * second, revision: 4, full: true},
	}
	if answers, changes := fullAnswers(polls, span{2 * second, 8 * second}); answers != 3 || changes != 1 {
		t.Errorf("%d answers for %d changes; want 3 for 1", answers, changes)
	}
	if parts := shares(polls, span{0, 8 * second}, 3); parts[0] != 5./6 || parts[1] != 1./6 || parts[2] != 0 {
		t.Errorf("shares %v", parts)
	}
}

// world is a channel that changes at 10 s, 20 s and 30 s, is polled each 2 s by two nodes, and
// what was told of it; each test breaks one thing.
func world() (changed [][]time.Duration, polls []poll, versions map[version]telling) {
	changed = [][]time.Duration{{10 * second, 20 * second, 30 * second}}
	revision, answered := int32(1), int32(1)
	for at := second; at < 40*second; at += 2 * second {
		revision = int32(1 + at/(10*second))
		polls = append(polls, poll{at: at, revision: revision, full: revision > answered, node: int8(at / (2 * second) % 2)})
		answered = revision
	}
	versions = make(map[version]telling)
	for n := 2; n <= 4; n++ {
		versions[version{0, uint64(n)}] = telling{at: time.Duration(n-1)*10*second + 1500*time.Millisecond, entries: []int{n}, from: n, newest: n}
	}
	return changed, polls, versions
}

func TestJudgeTold(t *testing.T) {
	gap := func(int) time.Duration { return 2 * second }
	for name, test := range map[string]struct {
		breaks                func(versions map[version]telling, polls []poll)
		missed, twice, behind int
	}{
		"nothing": {func(map[version]telling, []poll) {}, 0, 0, 0},
		"an update never told, though a node holds it": {func(v map[version]telling, _ []poll) {
			delete(v, version{0, 3})
		}, 1, 0, 1},
		"told with the next one only": {func(v map[version]telling, _ []poll) {
			delete(v, version{0, 3})
			v[version{0, 4}] = telling{at: 32 * second, entries: []int{3, 4}, from: 3, newest: 4}
		}, 0, 0, 1},
		"told with the next one, and no node held it": {func(v map[version]telling, polls []poll) {
			delete(v, version{0, 3})
			v[version{0, 4}] = telling{at: 32 * second, entries: []int{3, 4}, from: 3, newest: 4}
			for i := range polls {
				polls[i].full = polls[i].full || polls[i].revision == 3
			}
		}, 0, 0, 0},
		"one change as two versions": {func(v map[version]telling, _ []poll) {
			v[version{0, 5}] = telling{at: 33 * second, entries: []int{4}, from: 4, newest: 4}
		}, 0, 1, 0},
	} {
		changed, polls, versions := world()
		test.breaks(versions, polls)
		changes := follow(changed, polls, versions, 40*second)
		lines, stood := missed(changes, gap)
		if stood != 3 || len(lines) != test.missed || len(twice(versions)) != test.twice || len(behind(changes)) != test.behind {
			t.Errorf("%s: missed %v of %d, twice %v, behind %v", name, lines, stood, twice(versions), behind(changes))
		}
	}
	changed, polls, versions := world()
	delete(versions, version{0, 3})
	if lines, stood := missed(follow(changed, polls, versions, 40*second), func(int) time.Duration { return 6 * second }); stood != 0 || len(lines) > 0 {
		t.Errorf("what stood for less than two gaps is missed: %v", lines)
	}
}

func TestSeenAndHops(t *testing.T) {
	changed, polls, versions := world()
	changes := follow(changed, polls, versions, 40*second)
	detected, told := seen(changes, span{15 * second, 40 * second})
	if len(detected) != 2 || detected[0] != second || len(told) != 2 || told[1] != 500*time.Millisecond {
		t.Errorf("detected %v, told %v", detected, told)
	}
	// Found at 11, 21, 31 s: by nodes b, a, b. Owner a is told of the first and the third,
	// and b and c of what they have not found.
	names := []string{"a", "b", "c"}
	updates, messages := hops(changes, polls, span{0, 40 * second}, []string{"a"}, [][]string{{"a", "b", "c"}}, names)
	if updates != 3 || messages != 2+1+2+1 {
		t.Errorf("%d updates, %d messages", updates, messages)
	}
}

// A status counts for the ranges whose leaders say what they plan.
func TestSampleOf(t *testing.T) {
	low, high := channel.ID{0}, channel.ID{0xff}
	places := []place{{id: low, subscribers: 3}, {id: high, subscribers: 1}}
	polls := 1.0
	status := &api.Status{
		Cluster: api.Cluster{
			Members: []api.Member{{Name: "n1", PollsPerS: &polls}, {Name: "n2", PollsPerS: &polls}},
			Ranges:  []api.Range{{ID: 0, From: 0, To: 2047, Leader: "n1"}, {ID: 1, From: 2048, To: 4095, Leader: "n2"}},
		},
		Detection: api.Detection{PlannedS: 3, BoundS: 1.5}, Load: api.Load{PlannedPollsPerInterval: 14}, Optimiser: api.Optimiser{Feasible: true},
	}
	if s := sampleOf(status, places); !s.whole() || s.polls != 14 || s.detection != 3 || s.bound != 1.5 || s.unmet {
		t.Errorf("%+v", s)
	}
	status.Cluster.Members[1].PollsPerS = nil
	if s := sampleOf(status, places); s.whole() || s.led != 0.75 {
		t.Errorf("with a range whose leader is silent: %+v", s)
	}
	status.Cluster.Ranges[0].Leader = ""
	if s := sampleOf(status, places); s.led != 0 {
		t.Errorf("with a range that no node leads: %+v", s)
	}
	p := planner{samples: []sample{{at: 1, polls: 5, budget: 10, led: 1}, {at: 2, polls: 9, budget: 10, led: 0.5}, {at: 3, polls: 6, budget: 10, led: 1}, {at: 4, polls: 7, budget: 10, led: 1}}}
	if most := p.most(span{0, 5}); most != 0.6 {
		t.Errorf("planned for two samples: %g", most)
	}
	if mean := p.over(span{0, 4}); mean.polls != 5.5 {
		t.Errorf("mean of samples in which each range has a leader: %g", mean.polls)
	}
}

// A stream's updates are of entries of that channel, and a version has one content.
func TestTake(t *testing.T) {
	places := []place{newPlace(0, 0, 1), newPlace(1, 0, 1)}
	tell := newTold(time.Now(), places)
	update := func(n int, version uint64, entries ...int) *api.Update {
		u := &api.Update{Channel: places[n].id, Version: version}
		for _, entry := range entries {
			u.Entries.Added = append(u.Entries.Added, deltas.Entry{ID: entryID(n, entry)})
		}
		return u
	}
	for _, node := range []string{"n1", "n2"} {
		if err := tell.take(update(1, 2, 3, 2), node, second); err != nil {
			t.Error(err)
		}
	}
	versions, wrong := tell.all()
	if got := versions[version{1, 2}]; len(versions) != 1 || len(wrong) > 0 || got.from != 2 || got.newest != 3 || got.at != second {
		t.Errorf("%+v, %v", versions, wrong)
	}
	if err := tell.take(update(1, 2, 4), "n3", second); err != nil {
		t.Error(err)
	}
	if _, wrong := tell.all(); len(wrong) != 1 {
		t.Errorf("a version with two contents: %v", wrong)
	}
	of := update(0, 2)
	of.Entries.Added = []deltas.Entry{{ID: entryID(1, 2)}}
	if tell.take(of, "n1", 0) == nil || tell.take(&api.Update{}, "n1", 0) == nil {
		t.Error("another channel's entry, or channel, is taken")
	}
}

func TestDocument(t *testing.T) {
	old, next := document(7, 1, window, nil), document(7, 2, window, nil)
	if bytes.Equal(old, next) || !bytes.Equal(old, document(7, 1, window, nil)) || len(old) < 24<<10 || len(old) > 32<<10 {
		t.Errorf("documents of %d and %d bytes", len(old), len(next))
	}
	if bytes.Count(next, []byte("<item>")) != window || bytes.Contains(old, []byte(entryID(7, 2)+"<")) || !bytes.Contains(next, []byte(entryID(7, 2)+"<")) {
		t.Error("the newest entry is not that of the revision")
	}
	if n, entry, err := parseEntry(entryID(7, -3)); n != 7 || entry != -3 || err != nil {
		t.Errorf("%d, %d, %v", n, entry, err)
	}
	if _, _, err := parseEntry("x"); err == nil {
		t.Error("no entry is one")
	}
}

// The exit code is that of the rules, and a figure that is no number breaks its rule.
func TestResult(t *testing.T) {
	r := newResult(&options{interval: second, floor: second, maintenance: second, gap: second})
	if r.holds() {
		t.Error("holds without a rule")
	}
	r.none("early", nil)
	r.most("load", 1, 1)
	r.least("changes", 3, 1)
	if !r.holds() {
		t.Errorf("%+v", r.Rules)
	}
	for name, breaks := range map[string]func(r *result){
		"none":  func(r *result) { r.none("x", []string{"one of them"}) },
		"most":  func(r *result) { r.most("x", 1.1, 1) },
		"nan":   func(r *result) { r.most("x", math.NaN(), 1) },
		"least": func(r *result) { r.least("x", 0, 1) },
	} {
		broken := *r
		breaks(&broken)
		var out strings.Builder
		if err := broken.print(&out, ""); err != nil || broken.holds() || !strings.Contains(out.String(), "VIOLATED x") || strings.Count(out.String(), "holds") != 3 {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
	file := filepath.Join(t.TempDir(), "result.json")
	if err := r.print(new(strings.Builder), file); err != nil {
		t.Fatal(err)
	}
	var back result
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &back) != nil || len(back.Rules) != 3 {
		t.Errorf("%s: %v", text, err)
	}
}

// Polls are compared with the plan by what they may have to wait for.
func TestClasses(t *testing.T) {
	r := &run{options: &options{interval: 20 * second, floor: 20 * second / 6, gap: second}, places: []place{{host: 1}, {host: 1}, {host: 2}, {host: 3}, {host: 4}}}
	polls := []poll{{at: second, channel: 0}, {at: 2 * second, channel: 3}, {at: 3 * second, channel: 3}, {at: 4 * second, channel: 4}, {at: 50 * second}}
	all := r.classes([]float64{15, 4.5, 12, 7, 0.5}, polls, span{0, 10 * second})
	want := []class{{"hosts at their cap", 2, 19.5, 2}, {"pollers at the floor", 1, 12, 0}, {"others", 2, 7.5, 6}}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("%+v; want %+v", all[i], want[i])
		}
	}
}

// What idle nodes take is no part of what polls take, nor what polls take of what changes do.
func TestPerPoll(t *testing.T) {
	f := found{
		idle:  spending{span: span{0, 10 * second}, processor: second},
		still: spending{span: span{10 * second, 20 * second}, processor: 3 * second},
		calm:  spending{span: span{20 * second, 40 * second}, processor: 10 * second},
	}
	for n := range 1000 {
		f.polls = append(f.polls, poll{at: 10*second + time.Duration(n)*10*time.Millisecond})
	}
	for n := range 8 {
		f.polls = append(f.polls, poll{at: 21 * second, channel: int32(n), revision: 2, full: true})
	}
	if whole, beyond := f.perPoll(); math.Abs(whole-3000) > 1e-6 || math.Abs(beyond-2000) > 1e-6 {
		t.Errorf("%g and %g µs a poll", whole, beyond)
	}
	if each := f.perChange(); math.Abs(each-500) > 1e-6 {
		t.Errorf("%g ms a change", each)
	}
}
