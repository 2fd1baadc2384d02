package sharedlog

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
)

// TestDropThenPowerLoss: what the log has of a group is dropped for good, entries of others that
// were appended before and after it are there, and nothing is taken for damage, when power is
// lost right behind it.
func TestDropThenPowerLoss(t *testing.T) {
	for seed := range uint64(20) {
		files := vfs.NewCrashableMem()
		log, err := Open(Config{Dir: "log", Files: files, Logger: quiet{t}})
		if err != nil {
			t.Fatal(err)
		}
		const before, after = 50, 5
		groups := make([]*Group, 3)
		for id := range groups {
			if groups[id], err = log.Group(uint32(id)); err != nil {
				t.Fatal(err)
			}
			for i := range before {
				if err := groups[id].StoreLog(&raft.Log{Index: uint64(i + 1), Term: 1, Data: make([]byte, 500)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seed%2 == 0 { // else all is in memory
			if err := log.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Drop(1); err != nil {
			t.Fatal(err)
		}
		for i := range after {
			if err := groups[0].StoreLog(&raft.Log{Index: uint64(before + i + 1), Term: 1}); err != nil {
				t.Fatal(err)
			}
		}
		crashed := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed%3) * 50, RNG: rand.New(rand.NewPCG(seed, 1))})
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if log, err = Open(Config{Dir: "log", Files: crashed, Logger: quiet{t}}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for id, want := range []uint64{before + after, 0, before} {
			g, err := log.Group(uint32(id))
			if err != nil {
				t.Fatal(err)
			}
			last, _ := g.LastIndex()
			if last != want {
				t.Errorf("seed %d: group %d ends at entry %d, want %d", seed, id, last, want)
			}
			for i := range last {
				if err := g.GetLog(i+1, new(raft.Log)); err != nil {
					t.Errorf("seed %d: group %d: %v", seed, id, err)
				}
			}
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}
