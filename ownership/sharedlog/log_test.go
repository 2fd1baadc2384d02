package sharedlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"pgregory.net/rapid"
)

// TestKeys holds the layout of keys on disk: it must not change.
func TestKeys(t *testing.T) {
	for _, test := range []struct {
		name string
		key  []byte
		want string
	}{
		{"entry", entryKey(3, 7), "000000036c0000000000000007"},
		{"stable value", append(groupKey(3, kindStable), "x"...), "000000036b78"},
		{"snapshot", groupKey(3, kindSnapshot), "0000000373"},
		{"identity", identityKey(), "ffffffff6f"},
	} {
		if got := hex.EncodeToString(test.key); got != test.want {
			t.Errorf("%s key %s, want %s", test.name, got, test.want)
		}
	}
	if index := entryIndex(entryKey(3, 7)); index != 7 {
		t.Errorf("index %d read back, want 7", index)
	}
}

func testLog(t *testing.T) *Log {
	t.Helper()
	log, err := Open(Config{Dir: "log", Files: vfs.NewMem(), Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// TestGroupLog runs raft's contract of a log against a slice.
func TestGroupLog(t *testing.T) {
	shared := testLog(t)
	group := uint32(0)
	rapid.Check(t, func(rt *rapid.T) {
		group++
		m := &logModel{shared: shared, group: group, base: 1}
		m.reopen(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"append": m.append, "truncate": m.truncate, "drop end": m.dropEnd,
			"replace": m.replace, "reopen": m.reopen, "": m.check,
		})
	})
}

// logModel is a log and what it must hold: entries[i] has index base+i.
type logModel struct {
	shared  *Log
	group   uint32
	log     *Group
	entries []raft.Log
	base    uint64
}

func (m *logModel) reopen(rt *rapid.T) {
	var err error
	if m.log, err = m.shared.Group(m.group); err != nil {
		rt.Fatal(err)
	}
}

func (m *logModel) append(rt *rapid.T) {
	var logs []*raft.Log
	for range rapid.IntRange(1, 4).Draw(rt, "n") {
		log := raft.Log{
			Index: m.base + uint64(len(m.entries)), Term: rapid.Uint64().Draw(rt, "term"), Type: raft.LogCommand,
			Data:       rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(rt, "data"),
			Extensions: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "extensions"),
			AppendedAt: time.Unix(0, rapid.Int64Range(1, 1e18).Draw(rt, "at")),
		}
		m.entries, logs = append(m.entries, log), append(logs, &log)
	}
	if err := m.log.StoreLogs(logs); err != nil {
		rt.Fatal(err)
	}
}

func (m *logModel) truncate(rt *rapid.T) {
	if len(m.entries) == 0 {
		return
	}
	n := rapid.IntRange(1, len(m.entries)).Draw(rt, "n")
	if err := m.log.DeleteRange(m.base, m.base+uint64(n)-1); err != nil {
		rt.Fatal(err)
	}
	m.entries, m.base = m.entries[n:], m.base+uint64(n)
}

func (m *logModel) dropEnd(rt *rapid.T) {
	if len(m.entries) == 0 {
		return
	}
	n := rapid.IntRange(0, len(m.entries)-1).Draw(rt, "n")
	if err := m.log.DeleteRange(m.base+uint64(n), m.base+uint64(len(m.entries))-1); err != nil {
		rt.Fatal(err)
	}
	m.entries = m.entries[:n]
}

// replace appends behind a gap, as after a snapshot from elsewhere.
func (m *logModel) replace(rt *rapid.T) {
	m.base += uint64(len(m.entries) + rapid.IntRange(1, 5).Draw(rt, "gap"))
	m.entries = nil
	m.append(rt)
}

func (m *logModel) check(rt *rapid.T) {
	wantFirst, wantLast := m.base, m.base+uint64(len(m.entries))-1
	if len(m.entries) == 0 {
		wantFirst, wantLast = 0, 0
	}
	first, _ := m.log.FirstIndex()
	last, _ := m.log.LastIndex()
	if first != wantFirst || last != wantLast {
		rt.Fatalf("log from %d to %d, want %d to %d", first, last, wantFirst, wantLast)
	}
	for i, want := range m.entries {
		var got raft.Log
		if err := m.log.GetLog(m.base+uint64(i), &got); err != nil {
			rt.Fatal(err)
		}
		if got.Index != want.Index || got.Term != want.Term || got.Type != want.Type || !got.AppendedAt.Equal(want.AppendedAt) ||
			!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Extensions, want.Extensions) {
			rt.Fatalf("entry %+v, want %+v", got, want)
		}
	}
	for _, outside := range []uint64{m.base - 1, m.base + uint64(len(m.entries))} {
		if err := m.log.GetLog(outside, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			rt.Fatalf("entry %d: %v", outside, err)
		}
	}
}

func TestStableStore(t *testing.T) {
	shared := testLog(t)
	l, err := shared.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := l.GetUint64([]byte("term")); v != 0 || err != nil {
		t.Errorf("unset value %d, %v", v, err)
	}
	if err := errors.Join(l.SetUint64([]byte("term"), 7), l.Set([]byte("vote"), []byte("one"))); err != nil {
		t.Fatal(err)
	}
	if err := l.SetUint64([]byte("term"), 8); err != nil {
		t.Fatal(err)
	}
	again, err := shared.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := shared.Group(2)
	if err != nil {
		t.Fatal(err)
	}
	term, err := again.GetUint64([]byte("term"))
	vote, err2 := again.Get([]byte("vote"))
	foreign, err3 := other.Get([]byte("vote"))
	if term != 8 || string(vote) != "one" || len(foreign) != 0 || errors.Join(err, err2, err3) != nil {
		t.Errorf("term %d, vote %q, another group's %q, %v", term, vote, foreign, errors.Join(err, err2, err3))
	}
	if _, err := again.GetUint64([]byte("vote")); !errors.Is(err, disk.ErrCorrupt) || again.Damage() == nil {
		t.Errorf("a number of 3 bytes: %v", err)
	}
}

// TestClosedLog: raft still asks while it stops.
func TestClosedLog(t *testing.T) {
	shared := testLog(t)
	l, err := shared.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Close(); err != nil {
		t.Fatal(err)
	}
	log := &raft.Log{Index: 1}
	_, errGet := l.Get([]byte("x"))
	for _, err := range []error{l.GetLog(1, log), l.StoreLog(log), l.DeleteRange(1, 1), l.SetUint64([]byte("x"), 1), errGet} {
		if !errors.Is(err, errClosed) {
			t.Errorf("error %v, want %v", err, errClosed)
		}
	}
}

// TestChunks holds our reading of pebble's formats against files that pebble wrote: a
// write-ahead file and a manifest read to their ends, and the mark says as much.
func TestChunks(t *testing.T) {
	files := vfs.NewMem()
	log, err := Open(Config{Dir: "log", Files: files, MemTable: 64 << 10, Logger: quiet{t}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(300) {
		if err := log.put(entryKey(1, i), bytes.Repeat([]byte{1}, int(5*i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.mark.write(); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"open", "closed"} {
		have, err := readMark(files, "log")
		if err != nil {
			t.Fatal(err)
		}
		logs, manifests := 0, 0
		for name, length := range have.synced {
			content, err := readWhole(files, "log/"+name)
			if err != nil {
				t.Fatal(err)
			}
			if end := chunksOf(name).end(content); end < int(length) || state == "closed" && end > int(length) {
				t.Errorf("%s %s reads to %d, synced to %d", state, name, end, length)
			}
			if isManifest(name) {
				manifests++
			} else {
				logs++
			}
		}
		if logs == 0 || manifests != 1 {
			t.Errorf("%s: the mark has %d write-ahead files and %d manifests", state, logs, manifests)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// walFile reads the newest write-ahead file.
func walFile(t *testing.T, files vfs.FS) []byte {
	t.Helper()
	names, err := files.List("log")
	if err != nil {
		t.Fatal(err)
	}
	content, err := readWhole(files, files.PathJoin("log", newestWAL(names)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// used is the length of a file without the zeros at its end.
func used(content []byte) int { return len(bytes.TrimRight(content, "\x00")) }

// quiet lets only what is fatal through.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

// TestReadBesideReplacement: an entry is not taken for lost while those behind a received state
// replace the log, however long the disk takes for that.
func TestReadBesideReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, hang, release := hangingLog(t)
		g, err := log.Group(2)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.StoreLogs([]*raft.Log{{Index: 5}, {Index: 6}}); err != nil {
			t.Fatal(err)
		}
		hang()
		var storing sync.WaitGroup
		storing.Go(func() {
			if err := g.StoreLog(&raft.Log{Index: 101}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := g.GetLog(6, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) || g.Damage() != nil {
			t.Errorf("an entry that is being replaced: %v; damage: %v", err, g.Damage())
		}
		release()
		storing.Wait()
		if first, last := g.ends(); first != 101 || last != 101 {
			t.Errorf("the log is %d to %d", first, last)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTruncateEmpty: a truncation that comes when the log is empty leaves it so.
func TestTruncateEmpty(t *testing.T) {
	g, err := testLog(t).Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.StoreLogs([]*raft.Log{{Index: 10}, {Index: 11}, {Index: 12}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.DeleteRange(10, 12), g.DeleteRange(10, 11)); err != nil {
		t.Fatal(err)
	}
	if first, last := g.ends(); first != 0 || last != 0 {
		t.Errorf("the log is %d to %d", first, last)
	}
	if err := g.GetLog(9, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) || g.Damage() != nil {
		t.Errorf("an entry that never was: %v; damage: %v", err, g.Damage())
	}
}

// TestReadBesideTruncation: a read of the oldest entry while it is truncated returns
// it, or that it is not there. It is not taken for lost.
func TestReadBesideTruncation(t *testing.T) {
	const entries = 3000
	log, err := testLog(t).Group(1)
	if err != nil {
		t.Fatal(err)
	}
	logs := make([]*raft.Log, entries)
	for i := range logs {
		logs[i] = &raft.Log{Index: uint64(i + 1)}
	}
	if err := log.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		for {
			first, _ := log.FirstIndex()
			err := log.GetLog(first, new(raft.Log))
			if err != nil && !errors.Is(err, raft.ErrLogNotFound) || first == 0 {
				read <- err
				return
			}
		}
	}()
	for i := range uint64(entries) {
		if err := log.DeleteRange(i+1, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-read; !errors.Is(err, raft.ErrLogNotFound) {
		t.Error(err)
	}
}
