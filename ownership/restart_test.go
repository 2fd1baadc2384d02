package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
)

// populate makes state of every kind and returns how it reads.
func populate(t *testing.T, s *Store) string {
	t.Helper()
	ctx := context.Background()
	for i := range 20 {
		w := wish(fmt.Sprintf("http://example.com/%d", i%7), fmt.Sprintf("key %d", i), []channel.Sink{stream, webhook}[i%2])
		sub := subscribe(t, s, w)
		if i%5 == 4 {
			if err := s.Unsubscribe(ctx, sub.ID); err != nil {
				t.Fatal(err)
			}
		}
		grow(t, s, w.Channel, uint64(i%4))
	}
	if err := s.SetEndpoint(ctx, channel.Endpoint{URL: webhook.URL, State: channel.EndpointSuspended, Attempts: 10, LastError: "refused"}, channel.Endpoint{URL: webhook.URL}); err != nil {
		t.Fatal(err)
	}
	channels, err := s.Channels(nil, 1)
	if err != nil || len(channels) != 1 {
		t.Fatalf("Channels: %v, %v", channels, err)
	}
	c := channels[0]
	grow(t, s, c.ID, 3)
	err = s.Advance(ctx, []channel.Progress{{Channel: c.ID, Incarnation: c.Incarnation, Version: 3, Seq: 9, Stragglers: []channel.Straggler{{Seq: 1, Next: 2}}}})
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
		if got := again.groups()[0].state.Index(); got == 0 {
			t.Error("nothing was replayed")
		}
	})
	t.Run("killed after a snapshot", func(t *testing.T) {
		cfg := testConfig(t)
		s := open(t, cfg)
		populate(t, s)
		s.snapshotAll()
		if first, _ := s.groups()[0].log.FirstIndex(); first < 2 {
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

func TestForeignDirectories(t *testing.T) {
	t.Run("newer format", func(t *testing.T) {
		cfg := testConfig(t)
		if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, formatFile), []byte("4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var newer *datadir.FormatError
		if err := refused(t, cfg); !errors.As(err, &newer) || newer.Have != 4 || newer.Supported != 3 {
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
			if _, err := checkFormat(cfg.Dir); err != nil {
				t.Fatal(err)
			}
			tools := newTools(cfg, newMetrics(cfg.Registerer))
			meta, err := openMeta(filepath.Join(cfg.Dir, "meta"), cfg, tools)
			if err == nil {
				err = errors.Join(meta.start(loneSeat(meta.raftID), true), meta.await(t.Context()))
			}
			if err != nil {
				t.Fatal(err)
			}
			born, err := meta.birth(cfg, cfg.Logger)
			if err != nil || born.RangesBorn {
				t.Fatalf("birth: %v, %v", born, err)
			}
			if cut == "state" {
				log, err := openLog(cfg, tools, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := log.Close(); err != nil {
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
	if err := s.meta.raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	cfg.Ranges = 7
	if err := refused(t, cfg); !errors.Is(err, ErrRanges) || !strings.Contains(err.Error(), "was made with 4, which cannot be changed to 7") {
		t.Errorf("another number of ranges: %v", err)
	}
	cfg.Ranges = 0 // as it is
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
	busy := s.of(w.Channel.Bucket()).local()
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
	if last-first+1 < trailingLogs {
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

// TestBehind: a log that grows since its snapshots fail makes the node not ready,
// and one snapshot that succeeds makes it ready again; a start replays what no
// snapshot covers.
func TestBehind(t *testing.T) {
	cfg := testConfig(t)
	cfg.SnapshotBytes = 1 << 30 // none by itself
	s := open(t, cfg)
	for i := range 20 {
		subscribe(t, s, wish(fmt.Sprintf("http://example.com/%d", i), "", webhook))
	}
	behind := s.Unsnapshotted()
	if behind == 0 {
		t.Fatal("nothing is behind")
	}
	cfg.Dir = copyDir(t, cfg.Dir)
	killed := open(t, cfg)
	if again := killed.Unsnapshotted(); again != behind {
		t.Errorf("%d bytes to replay after a kill, want %d", again, behind)
	}
	killed.cfg.SnapshotBytes = behind / tooFarBehind / 2
	err := killed.Ready()
	wantError(t, err, ErrBehind)
	if want := fmt.Sprintf("no snapshot covers %d bytes of it, want %d at most", behind, behind/tooFarBehind/2*tooFarBehind); !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v does not say: %s", err, want)
	}
	killed.snapshotAll()
	if err := killed.Ready(); err != nil || killed.Unsnapshotted() != 0 {
		t.Errorf("after a snapshot: %v, %d bytes", err, killed.Unsnapshotted())
	}
}
