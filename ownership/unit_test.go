package ownership

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/seed-91e7e7c1/corona/channel"
	"pgregory.net/rapid"
)

// TestKeys holds the layout of keys on disk: it must not change.
func TestKeys(t *testing.T) {
	id := channel.ID{0xAB, 0xCD, 0xEF, 19: 0x01} // bucket 0xABC
	const c = "abcdef0000000000000000000000000000000001"
	for _, test := range []struct {
		name string
		key  []byte
		want string
	}{
		{"bucket", bucketKey(0xABC), "0abc62"},
		{"channel", channelKey(kindChannel, id), "0abc63" + c},
		{"judge", channelKey(kindJudge, id), "0abc6a" + c},
		{"seen", channelItemKey(kindSeen, id, 7), "0abc69" + c + "0000000000000007"},
		{"position", channelKey(kindPosition, id), "0abc67" + c},
		{"straggler", channelItemKey(kindStraggler, id, 7), "0abc68" + c + "0000000000000007"},
		{"member", channelItemKey(kindMember, id, 7), "0abc6d" + c + "0000000000000007"},
		{"seq", bucketItemKey(0xABC, kindSeq, 7), "0abc730000000000000007"},
		{"update", channelItemKey(kindUpdate, id, 7), "0abc75" + c + "0000000000000007"},
		{"stamp", bucketItemKey(0xABC, kindStamp, 7), "0abc740000000000000007"},
		{"claim", dayKey(0xABC, kindClaim, 20000, id[:]), "0abc6b00004e20" + c},
		{"done", dayKey(0xABC, kindDone, 20000, id[:]), "0abc6400004e20" + c},
		{"endpoint", endpointKey("https://example.com/"), "0b556eb559c7edd3fb67374c1a25e739cdd7edd1d79949"},
		{"applied", appliedKey(3), "ffff6100000003"},
		{"identity", identityKey(), "ffff6f"},
		{"log entry", entryKey(3, 7), "000000036c0000000000000007"},
		{"log snapshot", logKey(3, logSnapshot), "0000000373"},
		{"log identity", logKey(systemGroup, logIdentity), "ffffffff6f"},
	} {
		if got := hex.EncodeToString(test.key); got != test.want {
			t.Errorf("%s key %s, want %s", test.name, got, test.want)
		}
	}
	key := channelItemKey(kindMember, id, 7)
	if b, kind := keyBucket(key); b != 0xABC || kind != kindMember || keyChannel(key) != id || lastItem(key) != 7 {
		t.Error("key does not read back")
	}
}

func TestPrefixEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "prefix")
		key := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "key")
		end := prefixEnd(prefix)
		inside := bytes.Compare(key, prefix) >= 0 && (end == nil || bytes.Compare(key, end) < 0)
		if inside != bytes.HasPrefix(key, prefix) {
			t.Fatalf("prefix %x, end %x: key %x inside %v", prefix, end, key, inside)
		}
	})
}

func TestSubscriptionID(t *testing.T) {
	if got, want := subscriptionID(0xABC, 1), "sub_nf00000000002"; got != want {
		t.Errorf("ID %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := channel.Bucket(rapid.Uint16Range(0, channel.Buckets-1).Draw(t, "bucket"))
		seq := rapid.Uint64Range(1, maxSeq).Draw(t, "seq")
		gotB, gotSeq, err := parseSubscriptionID(subscriptionID(b, seq))
		if err != nil || gotB != b || gotSeq != seq {
			t.Fatalf("bucket %d seq %d came back as %d %d, %v", b, seq, gotB, gotSeq, err)
		}
		if seq < maxSeq && subscriptionID(b, seq) >= subscriptionID(b, seq+1) {
			t.Fatal("IDs are not in the order of their numbers")
		}
	})
}

// FuzzParseSubscriptionID: whatever is accepted is what was given out, letter by
// letter, and what is not is ErrNotFound.
func FuzzParseSubscriptionID(f *testing.F) {
	for _, seed := range []string{"", "sub_", "sub_nf00000000002", "sub_NF00000000002", "sub_nf000000000\n2", "sub_0000000000000", "sub_zzzzzzzzzzzzz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		b, seq, err := parseSubscriptionID(id)
		if err != nil {
			if !errors.Is(err, ErrNotFound) {
				t.Fatalf("%q: %v", id, err)
			}
			return
		}
		if b >= channel.Buckets || seq == 0 || seq > maxSeq || subscriptionID(b, seq) != id {
			t.Fatalf("%q reads as bucket %d, seq %d", id, b, seq)
		}
	})
}

// TestClock: times rise, are closed only when nothing at or before them is under
// way, and closed times never fall, whatever the wall clock does.
func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := time.UnixMicro(1e15)
		c := &clock{now: func() time.Time { return wall }}
		c.lead(rapid.Uint64Range(0, 2e15).Draw(t, "seen"))
		var pending []uint64
		last, closed, leading := uint64(0), uint64(0), true
		t.Repeat(map[string]func(*rapid.T){
			"wall": func(t *rapid.T) {
				wall = wall.Add(time.Duration(rapid.Int64Range(-3600e6, 3600e6).Draw(t, "µs")) * time.Microsecond)
			},
			"next": func(t *rapid.T) {
				at := c.next()
				if at <= last || at <= closed {
					t.Fatalf("time %d after %d, closed %d", at, last, closed)
				}
				last, pending = at, append(pending, at)
			},
			"settle": func(t *rapid.T) {
				n := rapid.IntRange(0, len(pending)).Draw(t, "n")
				if n > 0 {
					c.settle(pending[n-1])
					pending = pending[n:]
				}
			},
			"lose": func(t *rapid.T) { c.follow(); leading = false },
			"lead": func(t *rapid.T) { c.lead(last + 5); leading = true; last += 5 },
			"closed": func(t *rapid.T) {
				now := c.closedTime()
				if now < closed {
					t.Fatalf("closed fell from %d to %d", closed, now)
				}
				if len(pending) > 0 && now >= pending[0] {
					t.Fatalf("closed %d with %d under way", now, pending[0])
				}
				if !leading && now != closed {
					t.Fatalf("closed moved from %d to %d without leading", closed, now)
				}
				if leading && len(pending) == 0 && now < last {
					t.Fatalf("closed %d, nothing under way since %d", now, last)
				}
				closed = now
			},
		})
	})
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(&clock{now: time.Now})
		big := func() *proposal { return newProposal(make([]byte, maxQueued/2)) }
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			if err := q.push(ctx, big()); err != nil {
				t.Fatal(err)
			}
		}
		var third, fourth error
		go func() { third = q.push(ctx, newProposal([]byte("third"))) }()
		synctest.Wait()
		if q.size() != maxQueued {
			t.Fatalf("%d bytes queued, want %d: the bound does not hold", q.size(), maxQueued)
		}
		first, _ := q.take()
		synctest.Wait()
		if len(first) != 1 || third != nil || q.size() != maxQueued/2+5 {
			t.Fatalf("took %d, third %v, %d bytes", len(first), third, q.size())
		}
		go func() { fourth = q.push(ctx, big()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		wantError(t, fourth, context.Canceled)
		q.close()
		wantError(t, q.push(t.Context(), big()), ErrClosed)
		for range 2 {
			if items, end := q.take(); len(items) != 1 || end {
				t.Errorf("what was queued is lost: %d, %v", len(items), end)
			}
		}
		if _, end := q.take(); !end {
			t.Error("closed and empty, but no end")
		}
	})
}

// TestEntriesStayBelowMegabyte: entries are cut at 1 MiB, in order, and a larger
// command goes alone.
func TestEntriesStayBelowMegabyte(t *testing.T) {
	q := newQueue(&clock{now: time.Now})
	sizes := []int{maxEntry / 2, maxEntry / 2, 1, maxEntry + 1, 1, 2, 3}
	for _, size := range sizes {
		if err := q.push(t.Context(), newProposal(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
	}
	var cuts []int
	last := uint64(0)
	for {
		items, _ := q.take()
		if len(items) == 0 {
			break
		}
		cuts = append(cuts, len(items))
		for _, p := range items {
			if p.time <= last {
				t.Errorf("time %d after %d", p.time, last)
			}
			last = p.time
		}
	}
	if want := []int{2, 1, 1, 3}; !slices.Equal(cuts, want) {
		t.Errorf("entries of %v commands, want %v", cuts, want)
	}
}

func testLog(t *testing.T) *sharedLog {
	t.Helper()
	cfg := Config{files: vfs.NewMem()}.withDefaults()
	log, err := openLog("log", cfg, newTools(cfg, newMetrics(prometheus.NewRegistry())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// TestGroupLog runs raft's contract of a log against a slice.
func TestGroupLog(t *testing.T) {
	shared := testLog(t)
	group := uint32(0)
	rapid.Check(t, func(t *rapid.T) {
		group++
		l, err := openGroupLog(shared, group)
		if err != nil {
			t.Fatal(err)
		}
		model, base := []raft.Log{}, uint64(1) // model[i] has index base+i
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				var logs []*raft.Log
				for range rapid.IntRange(1, 4).Draw(t, "n") {
					log := raft.Log{
						Index: base + uint64(len(model)), Term: rapid.Uint64().Draw(t, "term"), Type: raft.LogCommand,
						Data:       rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"),
						Extensions: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "extensions"),
						AppendedAt: time.Unix(0, rapid.Int64Range(1, 1e18).Draw(t, "at")),
					}
					model, logs = append(model, log), append(logs, &log)
				}
				if err := l.StoreLogs(logs); err != nil {
					t.Fatal(err)
				}
			},
			"truncate": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				n := rapid.IntRange(1, len(model)).Draw(t, "n")
				if err := l.DeleteRange(base, base+uint64(n)-1); err != nil {
					t.Fatal(err)
				}
				model, base = model[n:], base+uint64(n)
			},
			"drop end": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				n := rapid.IntRange(0, len(model)-1).Draw(t, "n")
				if err := l.DeleteRange(base+uint64(n), base+uint64(len(model))-1); err != nil {
					t.Fatal(err)
				}
				model = model[:n]
			},
			"reopen": func(t *rapid.T) {
				if l, err = openGroupLog(shared, group); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				first, _ := l.FirstIndex()
				last, _ := l.LastIndex()
				if len(model) == 0 {
					if first != 0 || last != 0 {
						t.Fatalf("empty log from %d to %d", first, last)
					}
					return
				}
				if first != base || last != base+uint64(len(model))-1 {
					t.Fatalf("log from %d to %d, want %d and %d entries", first, last, base, len(model))
				}
				for i, want := range model {
					var got raft.Log
					if err := l.GetLog(base+uint64(i), &got); err != nil {
						t.Fatal(err)
					}
					if got.Index != want.Index || got.Term != want.Term || got.Type != want.Type || !got.AppendedAt.Equal(want.AppendedAt) ||
						!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Extensions, want.Extensions) {
						t.Fatalf("entry %+v, want %+v", got, want)
					}
				}
				for _, outside := range []uint64{base - 1, base + uint64(len(model))} {
					if err := l.GetLog(outside, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
						t.Fatalf("entry %d: %v", outside, err)
					}
				}
			},
		})
	})
}

func TestStableStore(t *testing.T) {
	shared := testLog(t)
	l, err := openGroupLog(shared, 1)
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
	again, err := openGroupLog(shared, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := openGroupLog(shared, 2)
	if err != nil {
		t.Fatal(err)
	}
	term, err := again.GetUint64([]byte("term"))
	vote, err2 := again.Get([]byte("vote"))
	foreign, err3 := other.Get([]byte("vote"))
	if term != 8 || string(vote) != "one" || len(foreign) != 0 || errors.Join(err, err2, err3) != nil {
		t.Errorf("term %d, vote %q, another group's %q, %v", term, vote, foreign, errors.Join(err, err2, err3))
	}
	if _, err := again.GetUint64([]byte("vote")); !errors.Is(err, ErrCorrupt) || again.damage() == nil {
		t.Errorf("a number of 3 bytes: %v", err)
	}
}

// TestClosedLog: raft still asks while it stops.
func TestClosedLog(t *testing.T) {
	shared := testLog(t)
	l, err := openGroupLog(shared, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.close(); err != nil {
		t.Fatal(err)
	}
	log := &raft.Log{Index: 1}
	_, errGet := l.Get([]byte("x"))
	for _, err := range []error{l.GetLog(1, log), l.StoreLog(log), l.DeleteRange(1, 1), l.SetUint64([]byte("x"), 1), errGet} {
		wantError(t, err, errLogClosed)
	}
}

// TestFlusher: calls that come while a flush runs share the next one, and none is
// served by a flush that began before it.
func TestFlusher(t *testing.T) {
	m := newMachine(t, nil)
	const callers = 50
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() {
			before := m.flush.begun.Load()
			if err := m.flush.flush(); err != nil {
				t.Error(err)
			}
			if m.flush.begun.Load() == before {
				t.Error("no flush began after the call")
			}
		})
	}
	calls.Wait()
	if n := m.flush.begun.Load(); n > callers {
		t.Errorf("%d flushes for %d calls", n, callers)
	}
}

// TestWALEnd holds our reading of pebble's format against a file that pebble
// wrote: every chunk of it reads, to the end.
func TestWALEnd(t *testing.T) {
	files := vfs.NewMem()
	cfg := Config{files: files}.withDefaults()
	log, err := openLog("log", cfg, newTools(cfg, newMetrics(prometheus.NewRegistry())))
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for i := range uint64(300) {
		if err := log.put(entryKey(1, i), bytes.Repeat([]byte{1}, int(5*i))); err != nil {
			t.Fatal(err)
		}
		written += int(5 * i)
	}
	number, content := walFile(t, files)
	if at, _ := walEnd(content, number); at < written || at != used(content) {
		t.Errorf("open file of %d bytes reads to %d", used(content), at)
	}
	if err := log.close(); err != nil {
		t.Fatal(err)
	}
	number, content = walFile(t, files)
	if at, whole := walEnd(content, number); at < written || !whole {
		t.Errorf("closed file of %d bytes reads to %d, whole %v", used(content), at, whole)
	}
}

// walFile reads the newest write-ahead file.
func walFile(t *testing.T, files vfs.FS) (uint32, []byte) {
	t.Helper()
	names, err := files.List("log")
	if err != nil {
		t.Fatal(err)
	}
	number, path := newestWAL(files, "log", names)
	content, err := readWhole(files, path)
	if err != nil {
		t.Fatal(err)
	}
	return number, content
}
