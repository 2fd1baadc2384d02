package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
)

// populate makes state of every kind and returns how it reads.
func populate(t *testing.T, s *Store) string {
	t.Helper()
	ctx := context.Background()
	for i := range 20 {
		w := wish(fmt.Sprintf("http://example.com/%d", i%7), fmt.Sprintf("key %d", i), []Sink{stream, webhook}[i%2])
		sub := subscribe(t, s, w)
		if i%5 == 4 {
			if err := s.Unsubscribe(ctx, sub.ID); err != nil {
				t.Fatal(err)
			}
		}
		grow(t, s, w.Channel, uint64(i%4))
	}
	if err := s.SetEndpoint(ctx, Endpoint{URL: webhook.URL, State: EndpointSuspended, Attempts: 10, LastError: "refused"}); err != nil {
		t.Fatal(err)
	}
	channels, err := s.Channels(nil, 1)
	if err != nil || len(channels) != 1 {
		t.Fatalf("Channels: %v, %v", channels, err)
	}
	c := channels[0]
	grow(t, s, c.ID, 3)
	err = s.Advance(ctx, []Progress{{Channel: c.ID, Incarnation: c.Incarnation, Version: 3, Seq: 9, Stragglers: []Straggler{{Seq: 1, Next: 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	return describe(t, s)
}

// describe reads everything that a store holds.
func describe(t *testing.T, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	channels, err := s.Channels(nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range channels {
		full, err := s.Channel(c.ID)
		seen, err2 := s.Seen(c.ID)
		progress, err3 := s.Progress(c.ID)
		updates, gap, err4 := s.Updates(c.ID, 0, 1000)
		fmt.Fprintln(&b, full, seen, progress, gap, errors.Join(err, err2, err3, err4))
		for _, u := range updates {
			fmt.Fprintf(&b, "  %d %d %s %s\n", u.Version, u.Stamp, u.Data, u.Patch)
		}
	}
	subscriptions, next, err := s.Subscriptions(SubscriptionQuery{Limit: 1000})
	fmt.Fprintln(&b, subscriptions, next, err)
	endpoints, err := s.Endpoints()
	fmt.Fprintln(&b, endpoints, err)
	c, n := s.Counts()
	fmt.Fprintln(&b, c, n, s.UpdateBytes(), s.Cluster())
	return b.String()
}

func TestRestart(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		cfg := testConfig(t)
		s := open(t, cfg)
		want := populate(t, s)
		shut(t, s)
		same(t, describe(t, open(t, cfg)), want)
	})
	t.Run("killed", func(t *testing.T) {
		cfg := testConfig(t)
		s := open(t, cfg)
		want := populate(t, s)
		cfg.Dir = copyDir(t, cfg.Dir)
		again := open(t, cfg)
		same(t, describe(t, again), want)
		if got := again.groups[0].fsm.hot.index.Load(); got == 0 {
			t.Error("nothing was replayed")
		}
	})
	t.Run("killed after a snapshot", func(t *testing.T) {
		cfg := testConfig(t)
		s := open(t, cfg)
		populate(t, s)
		s.snapshotAll()
		if first, _ := s.groups[0].log.FirstIndex(); first < 2 {
			t.Fatalf("log begins at entry %d after a snapshot: it was not truncated", first)
		}
		id := subscribe(t, s, wish("http://later.example/", "", stream)).ID
		want := describe(t, s)
		cfg.Dir = copyDir(t, cfg.Dir)
		again := open(t, cfg)
		same(t, describe(t, again), want)
		if _, err := again.Subscription(id); err != nil {
			t.Errorf("subscription made after the snapshot: %v", err)
		}
	})
	t.Run("many times", func(t *testing.T) {
		cfg := testConfig(t)
		s := open(t, cfg)
		want := populate(t, s)
		for range 5 {
			s.snapshotAll()
			shut(t, s)
			s = open(t, cfg)
			same(t, describe(t, s), want)
		}
	})
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("state after restart:\n%s\nwant:\n%s", got, want)
	}
}

// TestLostTail: what was being written when power went is no damage; the
// acknowledged before it stands.
func TestLostTail(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	want := populate(t, s)
	cfg.Dir = copyDir(t, cfg.Dir)
	wal := newest(t, filepath.Join(cfg.Dir, "log"), ".log")
	whole, err := os.Stat(wal)
	if err != nil {
		t.Fatal(err)
	}
	subscribe(t, s, wish("http://torn.example/", "", stream))
	longer, err := os.ReadFile(filepath.Join(s.cfg.Dir, "log", filepath.Base(wal)))
	if err != nil {
		t.Fatal(err)
	}
	torn := longer[:used(longer)-10]
	if int64(len(torn)) <= whole.Size() && used(longer[:whole.Size()]) == used(torn) {
		t.Fatal("nothing was torn")
	}
	if err := os.WriteFile(wal, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, describe(t, open(t, cfg)), want)
}

// used is the length of a file without the zeros at its end.
func used(content []byte) int { return len(bytes.TrimRight(content, "\x00")) }

// TestDamage: bad-input.md, row 59. What was acknowledged and is no longer
// readable is found before anything is served.
func TestDamage(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"bit in the middle of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0.5) }},
		{"bit at the begin of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0) }},
		{"bit near the end of the log's file", func(t *testing.T, dir string) { flip(t, dir, 0.95) }},
		{"bit in an entry", inLog(func(t *testing.T, db *pebble.DB) {
			key := entryKey(0, lastIndex(t, db)-2)
			value, closer, err := db.Get(key)
			if err != nil {
				t.Fatal(err)
			}
			bad := slices.Clone(value)
			if err := closer.Close(); err != nil {
				t.Fatal(err)
			}
			bad[len(bad)-1] ^= 1
			set(t, db, key, bad)
		})},
		{"entry in another's place", inLog(func(t *testing.T, db *pebble.DB) {
			last := lastIndex(t, db)
			value, closer, err := db.Get(entryKey(0, last-1))
			if err != nil {
				t.Fatal(err)
			}
			set(t, db, entryKey(0, last-2), slices.Clone(value))
			if err := closer.Close(); err != nil {
				t.Fatal(err)
			}
		})},
		{"entry missing", inLog(func(t *testing.T, db *pebble.DB) {
			if err := db.Delete(entryKey(0, lastIndex(t, db)-2), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		})},
		{"first entries missing", inLog(func(t *testing.T, db *pebble.DB) {
			if err := db.DeleteRange(entryKey(0, 0), entryKey(0, lastIndex(t, db)-1), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		})},
		{"raft's term", inLog(func(t *testing.T, db *pebble.DB) {
			set(t, db, append(logKey(0, logStable), "CurrentTerm"...), []byte("12345678"))
		})},
		{"log gone", func(t *testing.T, dir string) { remove(t, dir, "log") }},
		{"state gone", func(t *testing.T, dir string) { remove(t, dir, "state") }},
		{"meta file", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "meta", "raft.db")
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for page := range 2 {
				content[page*os.Getpagesize()+30] ^= 0xFF
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"format", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, formatFile), []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	cfg := testConfig(t)
	s := open(t, cfg)
	populate(t, s)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := cfg
			cfg.Dir = copyDir(t, cfg.Dir)
			test.damage(t, cfg.Dir)
			wantError(t, refused(t, cfg), ErrCorrupt)
		})
	}
}

// TestStoresOfDifferentTimes: a log that does not reach the state has lost
// acknowledged entries, a state older than the log's begin has lost them too.
func TestStoresOfDifferentTimes(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	populate(t, s)
	before := copyDir(t, cfg.Dir)
	for range 50 {
		subscribe(t, s, wish("http://example.com/", "", stream))
	}
	s.snapshotAll()
	after := copyDir(t, cfg.Dir)
	for _, test := range []struct{ name, log, state string }{
		{"log of before", before, after},
		{"state of before", after, before},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := cfg
			cfg.Dir = copyDir(t, test.log)
			remove(t, cfg.Dir, "state")
			if err := os.CopyFS(filepath.Join(cfg.Dir, "state"), os.DirFS(filepath.Join(test.state, "state"))); err != nil {
				t.Fatal(err)
			}
			wantError(t, refused(t, cfg), ErrCorrupt)
		})
	}
}

func TestForeignDirectories(t *testing.T) {
	t.Run("newer format", func(t *testing.T) {
		cfg := testConfig(t)
		if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, formatFile), []byte("2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var newer *FormatError
		if err := refused(t, cfg); !errors.As(err, &newer) || newer.Have != 2 || newer.Supported != 1 {
			t.Errorf("error %v", err)
		}
		entries, err := os.ReadDir(cfg.Dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("directory was touched: %v, %v", entries, err)
		}
	})
	t.Run("another program's", func(t *testing.T) {
		cfg := testConfig(t)
		if err := os.MkdirAll(filepath.Join(cfg.Dir, "holiday pictures"), 0o700); err != nil {
			t.Fatal(err)
		}
		wantError(t, refused(t, cfg), ErrForeign)
	})
	t.Run("another node's", func(t *testing.T) {
		cfg := testConfig(t)
		shut(t, open(t, cfg))
		cfg.Node = "two"
		wantError(t, refused(t, cfg), ErrForeign)
	})
	t.Run("another cluster's log", func(t *testing.T) {
		one, two := testConfig(t), testConfig(t)
		shut(t, open(t, one))
		shut(t, open(t, two))
		remove(t, one.Dir, "log")
		if err := os.CopyFS(filepath.Join(one.Dir, "log"), os.DirFS(filepath.Join(two.Dir, "log"))); err != nil {
			t.Fatal(err)
		}
		wantError(t, refused(t, one), ErrForeign)
	})
}

// TestBornHalfWay: a founding that was cut at any step is finished by the next
// start.
func TestBornHalfWay(t *testing.T) {
	for _, cut := range []string{"log", "state"} {
		t.Run("before "+cut, func(t *testing.T) {
			cfg := testConfig(t).withDefaults()
			if err := checkFormat(cfg.Dir); err != nil {
				t.Fatal(err)
			}
			tools := newTools(cfg, newMetrics(cfg.Registerer))
			meta, err := openMeta(context.Background(), filepath.Join(cfg.Dir, "meta"), cfg, tools)
			if err != nil {
				t.Fatal(err)
			}
			born, err := meta.birth(cfg, cfg.Logger)
			if err != nil || born.RangesBorn {
				t.Fatalf("birth: %v, %v", born, err)
			}
			if cut == "state" {
				log, err := openLog(filepath.Join(cfg.Dir, "log"), cfg, tools)
				if err != nil {
					t.Fatal(err)
				}
				if err := log.close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := meta.close(); err != nil {
				t.Fatal(err)
			}
			s := open(t, cfg)
			if got, want := s.Cluster(), fmt.Sprintf("%x", born.Cluster); got != want {
				t.Errorf("cluster %s, founded as %s", got, want)
			}
			subscribe(t, s, wish("http://example.com/", "", stream))
		})
	}
}

// TestMetaSnapshot: the settings of the birth survive the truncation of the meta
// group's log.
func TestMetaSnapshot(t *testing.T) {
	cfg := testConfig(t)
	s := open(t, cfg)
	want := populate(t, s)
	if err := s.meta.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	cfg.Ranges = 7 // counts at birth only
	s = open(t, cfg)
	same(t, describe(t, s), want)
	if got := len(s.Ranges()); got != 4 {
		t.Errorf("%d ranges, want the 4 of the birth", got)
	}
}

// TestTruncation: the log is cut as it grows, and a restart needs only the rest.
func TestTruncation(t *testing.T) {
	cfg := testConfig(t)
	cfg.SnapshotBytes = 32 << 10
	s := open(t, cfg)
	w := wish("http://example.com/", "", stream)
	busy := s.of[w.Channel.Bucket()]
	for i := 0; ; i++ {
		subscribe(t, s, w)
		if first, _ := busy.log.FirstIndex(); first > 200 {
			break
		}
		if i > 20_000 {
			t.Fatal("never truncated")
		}
	}
	first, _ := busy.log.FirstIndex()
	last, _ := busy.log.LastIndex()
	if last-first < trailingLogs {
		t.Errorf("entries %d to %d kept, want at least %d", first, last, trailingLogs)
	}
	_, want := s.Counts()
	shut(t, s)
	if _, got := open(t, cfg).Counts(); got != want {
		t.Errorf("%d subscriptions after a restart, want %d", got, want)
	}
}

func TestRanges(t *testing.T) {
	s := open(t, testConfig(t))
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	next := channel.Bucket(0)
	for i, r := range s.Ranges() {
		if int(r.ID) != i || r.From != next || r.To < r.From || r.Leader != "one" || !slices.Equal(r.Replicas, []string{"one"}) || r.Term == 0 {
			t.Errorf("range %+v", r)
		}
		next = r.To + 1
	}
	if next != channel.Buckets {
		t.Errorf("ranges end at bucket %d", next)
	}
}

// flip changes a bit of the log's newest file, at a part of its length.
func flip(t *testing.T, dir string, part float64) {
	t.Helper()
	path := newest(t, filepath.Join(dir, "log"), ".log")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[int(float64(used(content))*part)] ^= 0x10
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func inLog(damage func(t *testing.T, db *pebble.DB)) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		db, err := pebble.Open(filepath.Join(dir, "log"), &pebble.Options{FormatMajorVersion: pebbleFormat, Logger: quiet{t}})
		if err != nil {
			t.Fatal(err)
		}
		damage(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// quiet lets only what is fatal through.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

func lastIndex(t *testing.T, db *pebble.DB) uint64 {
	t.Helper()
	prefix := logKey(0, logEntry)
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		t.Fatal(err)
	}
	if !iter.Last() {
		t.Fatal("empty log")
	}
	last := lastItem(iter.Key())
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return last
}

func set(t *testing.T, db *pebble.DB, key, value []byte) {
	t.Helper()
	if err := db.Set(key, value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
