package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/overlay"
)

func drawID(t *rapid.T) (id channel.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), channel.IDLen, channel.IDLen).Draw(t, "id"))
	return id
}

func drawChannelRow(t *rapid.T) store.ChannelRow {
	return store.ChannelRow{
		ID: drawID(t), Incarnation: rapid.Uint64().Draw(t, "incarnation"),
		LastPoll: rapid.Int64().Draw(t, "last"), NotBefore: rapid.Int64().Draw(t, "not before"),
		Size: rapid.Uint32().Draw(t, "size"), Status: rapid.Uint16().Draw(t, "status"),
		Failures: rapid.Uint16().Draw(t, "failures"), Refused: rapid.Bool().Draw(t, "refused"), Shown: rapid.Bool().Draw(t, "shown"),
		Drift: rapid.Uint16().Draw(t, "drift"), Rank: rapid.Uint16Range(0, 255).Draw(t, "rank"),
		Rate: overlay.Rate{Polls: rapid.Uint32Range(0, 1<<16-1).Draw(t, "polls"), Intervals: rapid.Uint32Range(0, 255).Draw(t, "intervals")},
	}
}

func drawHostRow(t *rapid.T) store.HostRow {
	return store.HostRow{
		ID: drawID(t), FreeAt: rapid.Int64().Draw(t, "free"),
		Until: rapid.Int64().Draw(t, "until"), Last: rapid.Int64().Draw(t, "last"), Good: rapid.Int64().Draw(t, "good"),
		Count: rapid.Byte().Draw(t, "count"), Denied: rapid.Byte().Draw(t, "denied"),
	}
}

// inMemory is a Config with an empty folder.
func inMemory(t *testing.T) Config {
	t.Helper()
	c := Config{Dir: "cache", fs: vfs.NewMem()}.withDefaults()
	must(t, c.fs.MkdirAll(c.Dir, 0o755))
	return c
}

// A newer program's ledger is refused, and left as it is.
func TestLedgerOfNewerProgram(t *testing.T) {
	c := inMemory(t)
	replace(t, c.fs, "cache/"+store.LedgerFile, newerLedger())
	if _, err := Open(c, nil, deafOwner{}, nil); !errors.Is(err, datadir.ErrNewer) {
		t.Errorf("Open: %v", err)
	}
	if left := contentOf(t, c.fs, "cache/"+store.LedgerFile); !bytes.Equal(left, newerLedger()) {
		t.Errorf("the file is %x", left)
	}
}

// newerLedger is the header of a ledger of format 2: CRC-32C of the rest, 'L', three
// bytes of 0, the format.
func newerLedger() []byte {
	header := make([]byte, store.RowLen)
	header[4], header[8] = 'L', 2
	binary.LittleEndian.PutUint32(header, crc32.Checksum(header[4:], crc32.MakeTable(crc32.Castagnoli)))
	return header
}

// fullFS has no room for the ledger while it is full.
type fullFS struct {
	vfs.FS
	full *atomic.Bool
}

type fullFile struct {
	vfs.File
	full *atomic.Bool
}

func (fs fullFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := fs.FS.OpenReadWrite(name, category, opts...)
	return fullFile{file, fs.full}, err
}

func (f fullFile) WriteAt(p []byte, off int64) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

// row 60: without room for the ledger polling goes on. That is logged once, and
// once when there is room again, however often a row fits in between.
func TestLedgerDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var full atomic.Bool
		w := newWorld(t, Config{
			Interval: 10 * time.Second, Floor: time.Second,
			Logger: slog.New(slog.NewTextHandler(&log, nil)), fs: fullFS{vfs.NewMem(), &full},
		})
		full.Store(true)
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, urls(4, "a.example")...)
		w.pass(35 * time.Second)
		if n := w.polls(); n < 12 {
			t.Errorf("%d polls without room", n)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || gather(t, w.registry)["ledger_errors_total"] < 12 {
			t.Errorf("%d errors logged, %v counted:\n%s", n, gather(t, w.registry)["ledger_errors_total"], log.String())
		}
		for range 20 { // a little is freed again and again
			full.Store(!full.Load())
			w.pass(time.Second)
		}
		if n := strings.Count(log.String(), "level="); n != 1 {
			t.Errorf("logged %q", log.String())
		}
		full.Store(false)
		w.pass(20 * time.Second)
		w.close()
		if n := strings.Count(log.String(), "level=INFO"); n != 1 {
			t.Errorf("logged %q", log.String())
		}
	})
}

// The file grows with the channels that there are at a time, not with those that
// there ever were.
func TestLedgerRowsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer func() { w.close() }()
		for round := range 5 {
			all := urls(10, numbered(strings.Repeat("x", round+1), 2)...)
			w.serve(1, origin{status: 429, retryAfter: "1"}, all...)
			w.pass(20 * time.Second)
			var ids []channel.ID
			for _, url := range all {
				ids = append(ids, channel.IDOf(url))
			}
			w.engine.Drop(ids...)
			w.pass(40 * time.Second)
			if round == 2 {
				w.restart()
			}
		}
		w.pass(25 * time.Hour) // refusals are remembered for a day
		if rows, free := w.engine.mu.channels.rows.Count(); rows > 40+10 || free != rows {
			t.Errorf("%d rows, %d free", rows, free)
		}
	})
}

// Two rows of one channel, as a crash may leave them: the later one counts.
func TestRestoreDuplicates(t *testing.T) {
	for _, last := range [][2]int64{{5, 9}, {9, 5}} {
		s := newChannels(Config{}.withDefaults())
		take := s.restorer(1e18)
		for i, lastPoll := range last {
			take.Channel(int32(i+1), &store.ChannelRow{ID: channel.ID{1}, LastPoll: lastPoll})
		}
		if t1 := s.index.get(channel.ID{1}); s.index.len() != 1 || t1.LastPoll() != 9 || s.rows.Take() != 3-t1.Channel.row {
			t.Errorf("%v: %+v", last, t1)
		}
	}
}

// Whatever stands in a ledger, nothing is held back for longer than a day and its
// slot, and what stands there is kept where it may be true.
func TestRestoreBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newChannels(Config{Interval: halfHour, Floor: time.Minute, HostGap: time.Second}.withDefaults())
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		o := testOrder(1, rapid.Uint64Range(0, 1).Draw(t, "version"))
		c, h := drawChannelRow(t), drawHostRow(t)
		c.ID, h.ID = o.Channel, channel.HostID(channel.Host(o.URL))
		c.Incarnation = rapid.Uint64Range(1, 2).Draw(t, "incarnation")
		if rapid.Bool().Draw(t, "plausible") {
			c.LastPoll = now - rapid.Int64Range(0, 3600e9).Draw(t, "ago")
			h.Until, h.Count = now+rapid.Int64Range(0, 3600e9).Draw(t, "rests"), max(h.Count, 1)
		}
		take := s.restorer(now)
		take.Channel(1, &c)
		take.Host(2, &h)
		s.order(o, now)
		target := s.index.get(o.Channel)
		due, _ := target.Due()
		if due < now || due > now+int64(pace.LongestRest+2*48*halfHour) {
			t.Fatalf("due %v from now", time.Duration(due-now))
		}
		if c.LastPoll > 0 && c.LastPoll <= now && due < c.LastPoll+int64(time.Minute) {
			t.Fatalf("due %v after the last poll", time.Duration(due-c.LastPoll))
		}
		if until := h.Until; h.Count > 0 && until > now && until < now+int64(pace.LongestRest) && due < until {
			t.Fatalf("due %v before its host has rested", time.Duration(until-due))
		}
		if target.Host().Record().FreeAt > now+int64(pace.LongestRest) {
			t.Fatalf("host is free %v from now", time.Duration(target.Host().Record().FreeAt-now))
		}
	})
}

// A host that only redirects lead to is known after a kill, by its own row.
func TestRestoredHostHasItsOwnGap(t *testing.T) {
	s := newChannels(Config{HostGap: time.Second, PrivateHostGap: time.Millisecond}.withDefaults())
	s.restorer(1e18).Host(1, &store.HostRow{ID: channel.HostID("127.0.0.1:80"), FreeAt: 1e18 + 5e9})
	s.order(&Order{Channel: channel.ID{1}, URL: "http://127.0.0.1/a", Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1}, 1e18)
	if h := s.index.get(channel.ID{1}).Host(); h.Record().FreeAt != 1e18+5e9 || s.schedule.MannersOf(h, 0).Gap != time.Millisecond {
		t.Errorf("host %+v, gap %v", h, s.schedule.MannersOf(h, 0).Gap)
	}
}

// A host keeps its gap over a kill whichever of its channels is ordered first: here
// one that the earlier run had not asked for yet.
func TestRestoredGapIsOfTheHost(t *testing.T) {
	const now = int64(1e18)
	s := newChannels(Config{HostGap: 5 * time.Second}.withDefaults())
	s.restorer(now).Channel(1, &store.ChannelRow{ID: channel.ID{1}, LastPoll: now - 1e9})
	s.order(&Order{Channel: channel.ID{2}, URL: "http://a.example/b", Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1}, now)
	s.schedule.Promote(true, now)
	if p, ok := s.begin(now); ok {
		t.Errorf("%s is asked a second after its host was", p.url)
	}
	s.schedule.Promote(true, now+4e9)
	if _, ok := s.begin(now + 4e9); !ok {
		t.Error("not asked when the gap is over")
	}
}
