package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// TestStores holds every store to what raft expects of it, across a reopening.
func TestStores(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			store, logs, stable := openGroup(t, kind, dir, 1)
			checkLog(t, logs, 0, 0)
			if v, err := stable.Get([]byte("vote")); len(v) > 0 || err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
				t.Errorf("unset value %q, %v", v, err)
			}
			check(t, logs.StoreLogs(entries(1, 2000, 1)))
			checkLog(t, logs, 1, 2000)
			check(t, logs.DeleteRange(1, 1500))
			check(t, logs.DeleteRange(1991, 2000))
			checkLog(t, logs, 1501, 1990)
			check(t, logs.StoreLog(entries(1991, 1991, 2)[0]))
			check(t, stable.Set([]byte("vote"), []byte("one")))
			check(t, stable.SetUint64([]byte("term"), 7))
			_, other, _ := groupOf(t, store, 0)
			checkLog(t, other, 0, 0)
			check(t, store.close())
			if !lasts(kind) {
				return
			}

			store, logs, stable = openGroup(t, kind, dir, 1)
			checkLog(t, logs, 1501, 1991)
			vote, err := stable.Get([]byte("vote"))
			term, err2 := stable.GetUint64([]byte("term"))
			if string(vote) != "one" || term != 7 || errors.Join(err, err2) != nil {
				t.Errorf("vote %q, term %d, %v", vote, term, errors.Join(err, err2))
			}
			check(t, store.close())
		})
	}
}

func openGroup(t *testing.T, kind, dir string, id int) (nodeStore, raft.LogStore, raft.StableStore) {
	t.Helper()
	store, err := open(kind, dir, 2)
	check(t, err)
	return groupOf(t, store, id)
}

func groupOf(t *testing.T, store nodeStore, id int) (nodeStore, raft.LogStore, raft.StableStore) {
	t.Helper()
	logs, stable, err := store.group(id)
	check(t, err)
	return store, logs, stable
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d", i), AppendedAt: time.Now()})
	}
	return logs
}

// checkLog reads both ends of the log and what lies just outside.
func checkLog(t *testing.T, logs raft.LogStore, wantFirst, wantLast uint64) {
	t.Helper()
	first, err := logs.FirstIndex()
	last, err2 := logs.LastIndex()
	if first != wantFirst || last != wantLast || errors.Join(err, err2) != nil {
		t.Fatalf("log from %d to %d, %v; want %d to %d", first, last, errors.Join(err, err2), wantFirst, wantLast)
	}
	var log raft.Log
	for _, outside := range []uint64{first - 1, last + 1} {
		if err := logs.GetLog(outside, &log); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("entry %d: %v", outside, err)
		}
	}
	for _, index := range []uint64{first, last} {
		if index == 0 {
			continue
		}
		if err := logs.GetLog(index, &log); err != nil || log.Index != index || string(log.Data) != fmt.Sprintf("entry %d", index) {
			t.Errorf("entry %d is %+v, %v", index, log, err)
		}
	}
}

// TestBoltGathers: what waits goes into one transaction, whatever group it is of.
func TestBoltGathers(t *testing.T) {
	b := &bolt{writes: make(chan *boltWrite, 5)}
	for range 5 {
		b.writes <- &boltWrite{}
	}
	if n := len(b.gather(&boltWrite{})); n != 6 {
		t.Errorf("%d writes gathered, want 6", n)
	}
}

func TestBoltChecksum(t *testing.T) {
	value := encodeLog(entries(3, 3, 1)[0])
	for i := range value {
		value[i] ^= 4
		if err := decodeLog(value, 3, new(raft.Log)); !errors.Is(err, errChecksum) {
			t.Errorf("bit of byte %d: %v", i, err)
		}
		value[i] ^= 4
	}
}

const countDir = "LOGSTORES_TEST_COUNT_DIR"

// TestFsyncs compares the stores' own counts with the kernel's.
func TestFsyncs(t *testing.T) {
	if dir := os.Getenv(countDir); dir != "" {
		countFsyncs(t, filepath.Base(dir), dir)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs strace: ", err)
	}
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			if kind == "none" {
				t.Skip("has no fsyncs")
			}
			dir := filepath.Join(t.TempDir(), kind)
			check(t, os.Mkdir(dir, 0o700))
			trace := filepath.Join(t.TempDir(), "trace")
			child := exec.Command(strace, "-f", "-e", "trace=fsync,fdatasync", "-o", trace, os.Args[0], "-test.run", "^TestFsyncs$", "-test.v")
			child.Env = append(os.Environ(), countDir+"="+dir)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, line, _ := bytes.Cut(out, []byte("counted "))
			var counted int
			if _, err := fmt.Sscan(string(line), &counted); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			lines, err := os.ReadFile(trace)
			check(t, err)
			kernel := bytes.Count(lines, []byte("sync("))
			// Making the files costs some that are not counted.
			if kernel < counted || kernel > counted+20 {
				t.Errorf("counted %d fsyncs, the kernel saw %d", counted, kernel)
			}
		})
	}
}

func countFsyncs(t *testing.T, kind, dir string) {
	store, logs, stable := openGroup(t, kind, dir, 0)
	for i := range uint64(200) {
		check(t, logs.StoreLogs(entries(i+1, i+1, 1)))
		if i%4 == 0 {
			check(t, stable.SetUint64([]byte("term"), i+1))
		}
	}
	check(t, logs.DeleteRange(1, 100))
	fmt.Println("counted", store.fsyncs())
	os.Exit(0) // closing would sync again
}
