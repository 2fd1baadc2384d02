//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/internal/arrival"
)

func TestDeck(t *testing.T) {
	deck := deckOf([]string{"kill", "eio"})
	if want := []string{"kill", "kill", "kill", "eio"}; !slices.Equal(deck, want) {
		t.Errorf("deck %v, want %v", deck, want)
	}
	if got := len(deckOf(kindNames(ofAnyRun))); got < 14 { // three seeds make more than 40 faults
		t.Errorf("a deck of all has %d faults", got)
	}
}

func TestAcknowledgementsNearFaults(t *testing.T) {
	r := &run{recorder: witness.NewRecorder(), faults: []*fault{{kind: "kill", from: 10 * time.Second}, {kind: "join", from: 13 * time.Second}, {kind: "kill", from: 14 * time.Second}}}
	at := func(second int, outcome witness.Outcome) witness.Attempt {
		return witness.Attempt{Done: witness.Instant(second) * time.Second, Outcome: outcome}
	}
	r.recorder.With(func(h *witness.History) {
		h.Subscribes = []*witness.SubscribeRecord{
			{Attempts: []witness.Attempt{at(9, witness.Acked), at(11, witness.Unknown), at(15, witness.Acked)}},
			{Attempts: []witness.Attempt{at(18, witness.Acked)}, Deletes: []witness.Attempt{at(20, witness.Acked)}},
		}
	})
	k := newRecord(r, nil)
	if want := map[string]counts{"kill": {2, 2}, "join": {1, 2}}; k.Acked != 4 || k.Near != 2 || !maps.Equal(k.Kinds, want) {
		t.Errorf("%d acknowledgements, %d near, %v; want 4, 2, %v", k.Acked, k.Near, k.Kinds, want)
	}
}

// The longest time without an acknowledgement counts from when clients begin to when they end.
func TestWithoutAnswer(t *testing.T) {
	r := &run{out: io.Discard, recorder: witness.NewRecorder(), asking: [2]witness.Instant{10 * time.Second, 60 * time.Second}}
	acked := func(second int) witness.Attempt {
		return witness.Attempt{Done: witness.Instant(second) * time.Second, Outcome: witness.Acked}
	}
	r.recorder.With(func(h *witness.History) {
		h.Subscribes = []*witness.SubscribeRecord{{Attempts: []witness.Attempt{acked(5), acked(45), {Done: 50 * time.Second}}, Deletes: []witness.Attempt{acked(25), acked(70)}}}
	})
	if got := r.withoutAnswer(); got != 20*time.Second || r.answered() != nil {
		t.Errorf("%s without an acknowledgement, %v; want 20 s, which is no violation", got, r.answered())
	}
	r.recorder.With(func(h *witness.History) { h.Subscribes[0].Attempts = nil })
	if err := r.answered(); !errors.Is(err, errViolated) {
		t.Errorf("35 s without an acknowledgement: %v", err)
	}
}

// What runs add to a file is read again and added up, a seed that failed too.
func TestRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.jsonl")
	var now totals
	for seed, failed := range []error{nil, fmt.Errorf("%w: a rule\nmore", errViolated)} {
		r := &run{out: io.Discard, seed: uint64(seed), recorder: witness.NewRecorder(), polls: arrival.NewLog(time.Now()), faults: []*fault{{kind: "wipe"}}}
		if err := now.add(r, failed, file); err != nil {
			t.Fatal(err)
		}
	}
	read, err := readRecords(file, file)
	if err != nil || len(read) != 4 || read[1].Failed != "violated: a rule" {
		t.Fatalf("%v, %v", read, err)
	}
	for _, want := range []string{"wipe            4  0", "4 seeds: 4 faults", "2 seeds FAILED"} {
		if !strings.Contains(read.String(), want) {
			t.Errorf("%s\nwant %q", read, want)
		}
	}
	if strings.Contains(now[:1].String(), "FAILED") {
		t.Errorf("%s\nwant no failure", now[:1])
	}
}

// store is a node of which a ledger is kept: one that forgets makes histories that are
// not linearizable.
type store struct {
	forgets bool
	listing []api.Subscription
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = w.Write(mustJSON(api.Subscriptions{Subscriptions: s.listing}))
		return
	}
	var request api.SubscribeRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sub := api.Subscription{ID: request.Sink.URL, URL: request.URL, Sink: request.Sink, State: api.StateActive}
	if !s.forgets {
		s.listing = append(s.listing, sub)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(mustJSON(sub))
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("the contract's types are JSON: " + err.Error())
	}
	return data
}

func newTestLedger(base string) *ledger {
	r := &run{recorder: witness.NewRecorder(), stillURL: "http://origin/", sink: &witness.Sink{URL: "http://sink/"}}
	r.client = witness.NewClient(r.recorder, base)
	r.workload = witness.NewWorkload(r.client, nil, r.sink, 1)
	return &ledger{run: r, hasty: r.client}
}

// What was acknowledged and is not listed is found in the histories.
func TestLedgerFindsLoss(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		server := httptest.NewServer(&store{forgets: forgets})
		l := newTestLedger(server.URL)
		p := l.newPage()
		l.subscribe(t.Context(), 0, p, rand.New(rand.NewPCG(1, 1)))
		if !l.list(t.Context(), 1, p) {
			t.Fatal("no list")
		}
		server.Close()
		if !forgets && l.list(t.Context(), 1, p) {
			t.Error("a list without an answer is one")
		}
		report := l.history.Check(time.Minute)
		if report.Operations != 2 || (report.Err() != nil) != forgets {
			t.Errorf("forgets %t: %d operations, %v", forgets, report.Operations, report.Err())
		}
	}
}
