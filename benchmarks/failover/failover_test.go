//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
)

func TestReport(t *testing.T) {
	times := make([][]time.Duration, len(kinds))
	for n := range 100 {
		times[0] = append(times[0], time.Duration(100-n)*10*time.Millisecond) // unsorted
	}
	times[0][7] = time.Hour // the slowest of a hundred is beyond the 99th
	times[1] = []time.Duration{kinds[1].limit}
	var out strings.Builder
	if !report(&out, times) || !strings.Contains(out.String(), "kill     100    500ms       1s   1h0m0s   p99 <= 5s: kept") {
		t.Errorf("not kept:\n%s", &out)
	}
	if strings.Contains(out.String(), "cut") {
		t.Errorf("a kind that was not measured:\n%s", &out)
	}
	out.Reset()
	times[0][8] = time.Hour
	if report(&out, times) || !strings.Contains(out.String(), "p99 <= 5s: MISSED") {
		t.Errorf("two of a hundred over the limit are kept:\n%s", &out)
	}
	times[0], times[1][0] = nil, times[1][0]+1
	if report(&out, times) {
		t.Errorf("a largest over the limit is kept:\n%s", &out)
	}
}

func TestCalmReport(t *testing.T) {
	before := []used{{processor: time.Second, elections: 3}, {elections: 1, polls: 5}}
	for name, test := range map[string]struct {
		channels int
		change   func(*used)
		kept     bool
	}{
		"idle":                     {0, func(*used) {}, true},
		"a processor too busy":     {0, func(u *used) { u.processor += time.Millisecond }, false},
		"too large":                {0, func(u *used) { u.resident += 1e6 }, false},
		"an election":              {0, func(u *used) { u.elections++ }, false},
		"polls":                    {9, func(u *used) { u.processor, u.polls = time.Minute, 6 }, true},
		"an election beside polls": {9, func(u *used) { u.polls, u.elections = 6, 2 }, false},
		"nothing polled":           {9, func(*used) {}, false},
	} {
		after := []used{{processor: time.Second, elections: 3}, {processor: 4 * time.Second, resident: 300e6, elections: 1, polls: 5}}
		test.change(&after[1])
		var out strings.Builder
		kept := calmOptions{ranges: 64, channels: test.channels}.report(&out, 100*time.Second, before, after)
		if kept != test.kept || strings.Contains(out.String(), "kept") != kept {
			t.Errorf("%s: %t\n%s", name, kept, &out)
		}
	}
}

// A writer goes on at other nodes while one does not answer, and stops at the first
// acknowledgement.
func TestUntilWritten(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
		<-r.Context().Done()
	}))
	defer silent.Close()
	var asked atomic.Int32
	takes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer takes.Close()
	r := &run{client: new(http.Client)}
	left := []*cluster.Node{{Name: "silent", API: silent.URL}, {Name: "takes", API: takes.URL}}
	at, err := r.untilWritten(t.Context(), left, "http://origin/", time.Now())
	if err != nil || at < 3*writeEvery || asked.Load() != 2 { // silent, 503, silent, taken
		t.Errorf("written after %s, asked %d times: %v", at, asked.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.untilWritten(ctx, left[:1], "http://origin/", time.Now()); err == nil {
		t.Error("written without an answer")
	}
}
