package main

import (
	"strings"
	"testing"
)

func TestPartOf(t *testing.T) {
	const ours = module
	for want, stacks := range map[string][][]string{
		"garbage collection":            {{"runtime.scanobject", "runtime.gcBgMarkWorker.func2", "runtime.systemstack"}},
		"sockets":                       {{"syscall.Syscall", "internal/poll.(*FD).Write", "net.(*conn).Write", "crypto/tls.(*Conn).Write", ours + "internal/peer.writeAll"}},
		"TLS":                           {{"crypto/internal/fips140/aes/gcm.gcmAesEnc", "crypto/tls.(*Conn).Write", "net/http.(*http2Framer).endWrite"}},
		"log: sharedlog and its pebble": {{"syscall.Syscall", "github.com/cockroachdb/pebble/v2.(*Batch).Commit", ours + "ownership/sharedlog.(*group).StoreLogs", "github.com/hashicorp/raft.(*Raft).run"}},
		"raft":                          {{"runtime.mallocgc", "github.com/hashicorp/raft.(*Raft).dispatchLogs"}},
		"ranges: batches, state and its pebble": {
			{"github.com/cockroachdb/pebble/v2.(*memTable).apply", ours + "ownership.(*tx).commit", "github.com/hashicorp/raft.(*Raft).runFSM"},
			{"google.golang.org/protobuf/proto.Unmarshal", ours + "ownership/internal/wire.x"},
		},
		"pebble in the background": {{"syscall.Syscall", "github.com/cockroachdb/pebble/v2.(*DB).flush1"}},
		"others":                   {{"runtime.memmove"}, nil},
	} {
		for _, stack := range stacks {
			if got := partOf(stack); got != want {
				t.Errorf("%v: %q, want %q", stack, got, want)
			}
		}
	}
}

// TestCriteria: each is judged by the median of ratios within rounds.
func TestCriteria(t *testing.T) {
	of := func(system string, round int, perSecond float64) cell {
		return cell{System: system, Round: round, PerSecond: perSecond}
	}
	log := func(store string, round int, front bool, perSecond float64) logs {
		return logs{Store: store, Round: round, Front: front, PerSecond: perSecond}
	}
	even := []cell{of(systemCorona, 1, 10), of(systemEtcd, 1, 10)}
	for name, test := range map[string]struct {
		result result
		want   [2]string
	}{
		"nothing": {result{}, [2]string{notJudged, notJudged}},
		"no etcd": {result{Cells: []cell{of(systemCorona, 1, 10)}}, [2]string{notJudged, notJudged}},
		"as many": {result{Cells: even}, [2]string{failed, notJudged}},
		// Ratios 2, 2 and 0.1: the medians of both systems' figures are as 1 to 5.
		"by round": {result{Cells: []cell{
			of(systemCorona, 1, 2), of(systemEtcd, 1, 1), of(systemEtcd, 2, 10), of(systemCorona, 2, 20), of(systemCorona, 3, 1), of(systemEtcd, 3, 10),
		}}, [2]string{passed, notJudged}},
		"three times": {result{Logs: []logs{log(storePebble, 1, false, 3), log(storeFile, 1, false, 1), log(storePebble, 1, true, 1), log(storeFile, 1, true, 1)}}, [2]string{notJudged, passed}},
		"less":        {result{Logs: []logs{log(storePebble, 1, false, 2.9), log(storeFile, 1, false, 1), log(storePebble, 1, true, 9), log(storeFile, 1, true, 1)}}, [2]string{notJudged, failed}},
	} {
		for i, c := range test.result.criteria() {
			if c.verdict != test.want[i] {
				t.Errorf("%s: %s: %s, want %s", name, c.text, c.verdict, test.want[i])
			}
			if text := test.result.text(); !strings.Contains(text, c.verdict+": "+c.text) {
				t.Errorf("%s: the table lacks %q", name, c.text)
			}
		}
	}
}
