package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
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
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/overlay"
)

func drawID(t *rapid.T) (id channel.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), channel.IDLen, channel.IDLen).Draw(t, "id"))
	return id
}

func drawChannelRow(t *rapid.T) channelRow {
	return channelRow{
		id: drawID(t), incarnation: rapid.Uint64().Draw(t, "incarnation"),
		lastPoll: rapid.Int64().Draw(t, "last"), notBefore: rapid.Int64().Draw(t, "not before"),
		size: rapid.Uint32().Draw(t, "size"), status: rapid.Uint16().Draw(t, "status"),
		failures: rapid.Uint16().Draw(t, "failures"), refused: rapid.Bool().Draw(t, "refused"), shown: rapid.Bool().Draw(t, "shown"),
		drift: rapid.Uint16().Draw(t, "drift"), rank: rapid.Uint16Range(0, 255).Draw(t, "rank"),
		rate: overlay.Rate{Polls: rapid.Uint32Range(0, 1<<16-1).Draw(t, "polls"), Intervals: rapid.Uint32Range(0, 255).Draw(t, "intervals")},
	}
}

func drawHostRow(t *rapid.T) hostRow {
	return hostRow{id: drawID(t), freeAt: rapid.Int64().Draw(t, "free"), rest: refusals{
		until: rapid.Int64().Draw(t, "until"), last: rapid.Int64().Draw(t, "last"), good: rapid.Int64().Draw(t, "good"),
		count: rapid.Byte().Draw(t, "count"), denied: rapid.Byte().Draw(t, "denied"),
	}}
}

// row 59: what is written comes back, and no bit of it may change unnoticed.
func TestLedgerRowRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var row ledgerRow
		c, h := drawChannelRow(t), drawHostRow(t)
		c.fill(&row)
		if got := readChannelRow(&row); got != c {
			t.Fatalf("%+v came back as %+v", c, got)
		}
		row = ledgerRow{}
		h.fill(&row)
		if got := readHostRow(&row); got != h {
			t.Fatalf("%+v came back as %+v", h, got)
		}
		row.seal()
		bit := rapid.IntRange(0, rowLen*8-1).Draw(t, "bit")
		if row[bit/8] ^= 1 << (bit % 8); row.intact() {
			t.Fatalf("bit %d flipped unnoticed", bit)
		}
	})
}

// inMemory is a Config with an empty folder.
func inMemory(t *testing.T) Config {
	t.Helper()
	c := Config{Dir: "cache", fs: vfs.NewMem()}.withDefaults()
	if err := c.fs.MkdirAll(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

// overwrite changes bytes of the ledger.
func overwrite(t *testing.T, c Config, offset int64, data []byte) {
	t.Helper()
	file, err := c.fs.OpenReadWrite("cache/ledger", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = file.WriteAt(data, offset)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reopen returns the channels that a ledger holds, by row, and how many rows could
// not be read.
func reopen(t *testing.T, c Config, write map[int32]channelRow) (rows map[int32]channelRow, free []int32, lost int) {
	t.Helper()
	rows = map[int32]channelRow{}
	m := newMetrics()
	l, err := openLedger(c, m, func(number int32, row *ledgerRow) {
		if row == nil {
			free = append(free, number)
			return
		}
		rows[number] = readChannelRow(row)
	})
	if err != nil {
		t.Fatal(err)
	}
	for number, row := range write {
		l.writeChannel(number, &row)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	return rows, free, int(counterValue(t, m.ledgerLost))
}

// row 59: rows that were torn or changed on disk are skipped, and counted; the others and
// free ones are what they were.
func TestLedgerDamage(t *testing.T) {
	c := inMemory(t)
	reopen(t, c, map[int32]channelRow{1: {lastPoll: 1}, 2: {lastPoll: 2}, 3: {lastPoll: 3}, 5: {lastPoll: 5}, 2000: {lastPoll: 6}})
	for offset, data := range map[int64]string{2*rowLen + 32: "x", 2001 * rowLen: "cut short"} {
		overwrite(t, c, offset, []byte(data))
	}
	rows, free, lost := reopen(t, c, nil)
	if len(rows) != 4 || rows[1].lastPoll != 1 || rows[3].lastPoll != 3 || rows[5].lastPoll != 5 || rows[2000].lastPoll != 6 {
		t.Errorf("rows %+v", rows)
	}
	if lost != 2 || len(free) != 2000-4 || free[0] != 2 || free[1] != 4 {
		t.Errorf("%d lost, %d free", lost, len(free))
	}
}

// What is no ledger is made one, and nothing of before comes back.
func TestLedgerBegunAnew(t *testing.T) {
	c := inMemory(t)
	reopen(t, c, map[int32]channelRow{1: {lastPoll: 1}})
	overwrite(t, c, 8, []byte("garbage"))
	for range 2 {
		if rows, free, lost := reopen(t, c, nil); len(rows)+len(free)+lost != 0 {
			t.Errorf("rows %v, free %v, %d lost", rows, free, lost)
		}
	}
}

// A newer program's ledger is refused, and left as it is.
func TestLedgerOfNewerProgram(t *testing.T) {
	c := inMemory(t)
	var header ledgerRow
	header[4] = headerKind
	binary.LittleEndian.PutUint32(header[8:], ledgerFormat+1)
	header.seal()
	overwrite(t, c, 0, header[:])
	if _, err := Open(c, nil, nil, nil); !errors.Is(err, datadir.ErrNewer) {
		t.Errorf("Open: %v", err)
	}
	file, err := c.fs.Open("cache/ledger")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := io.ReadAll(file); err != nil || !bytes.Equal(left, header[:]) {
		t.Errorf("the file is %x, %v", left, err)
	}
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

// The log hears of the first failure at once, of each change that lasts, and never
// twice within a minute, however fast rows fail and succeed in turns.
func TestLedgerNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var news ledgerNews
		now := time.Unix(1e9, 0)
		told, last := []time.Time(nil), false
		for range rapid.IntRange(1, 200).Draw(t, "writes") {
			now = now.Add(time.Duration(rapid.Int64Range(1, 30_000).Draw(t, "ms")) * time.Millisecond)
			failed := rapid.Bool().Draw(t, "failed")
			if !news.tells(failed, now) {
				if failed != last && (len(told) == 0 || now.Sub(told[len(told)-1]) >= newsEvery) {
					t.Fatalf("failed %v, not told", failed)
				}
				continue
			}
			if failed == last {
				t.Fatalf("failed %v, told twice", failed)
			}
			if len(told) > 0 && now.Sub(told[len(told)-1]) < newsEvery {
				t.Fatalf("told again after %v", now.Sub(told[len(told)-1]))
			}
			told, last = append(told, now), failed
		}
	})
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
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || counterValue(t, w.engine.metrics.ledgerErrors) < 12 {
			t.Errorf("%d errors logged, %v counted:\n%s", n, counterValue(t, w.engine.metrics.ledgerErrors), log.String())
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
		s := &w.engine.mu.schedule
		if s.rows.next > 1+40+10 || len(s.rows.free) != int(s.rows.next)-1 {
			t.Errorf("%d rows, %d free", s.rows.next, len(s.rows.free))
		}
	})
}

// Two rows of one channel, as a crash may leave them: the later one counts.
func TestRestoreDuplicates(t *testing.T) {
	for _, last := range [][2]int64{{5, 9}, {9, 5}} {
		s := newSchedule(Config{}.withDefaults())
		take := s.restorer(1e18)
		for i, lastPoll := range last {
			var row ledgerRow
			(&channelRow{id: channel.ID{1}, lastPoll: lastPoll}).fill(&row)
			take(int32(i+1), &row)
		}
		if t1 := s.targets.get(channel.ID{1}); s.targets.len() != 1 || t1.lastPoll != 9 || len(s.rows.free) != 1 || s.rows.free[0] == t1.row {
			t.Errorf("%v: %+v, free %v", last, t1, s.rows.free)
		}
	}
}

// Whatever stands in a ledger, nothing is held back for longer than a day and its
// slot, and what stands there is kept where it may be true.
func TestRestoreBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSchedule(Config{Interval: halfHour, Floor: time.Minute, HostGap: time.Second}.withDefaults())
		now := rapid.Int64Range(1e18, 2e18).Draw(t, "now")
		o := testOrder(1, rapid.Uint64Range(0, 1).Draw(t, "version"))
		c, h := drawChannelRow(t), drawHostRow(t)
		c.id, h.id = o.Channel, channel.HostID(channel.Host(o.URL))
		c.incarnation = rapid.Uint64Range(1, 2).Draw(t, "incarnation")
		if rapid.Bool().Draw(t, "plausible") {
			c.lastPoll = now - rapid.Int64Range(0, 3600e9).Draw(t, "ago")
			h.rest.until, h.rest.count = now+rapid.Int64Range(0, 3600e9).Draw(t, "rests"), max(h.rest.count, 1)
		}
		take := s.restorer(now)
		var row ledgerRow
		c.fill(&row)
		take(1, &row)
		row = ledgerRow{}
		h.fill(&row)
		take(2, &row)
		s.order(o, now)
		target := s.targets.get(o.Channel)
		if target.due < now || target.due > now+int64(longestRest+2*48*halfHour) {
			t.Fatalf("due %v from now", time.Duration(target.due-now))
		}
		if c.lastPoll > 0 && c.lastPoll <= now && target.due < c.lastPoll+int64(time.Minute) {
			t.Fatalf("due %v after the last poll", time.Duration(target.due-c.lastPoll))
		}
		if until := h.rest.until; h.rest.count > 0 && until > now && until < now+int64(longestRest) && target.due < until {
			t.Fatalf("due %v before its host has rested", time.Duration(until-target.due))
		}
		if target.host.freeAt > now+int64(longestRest) {
			t.Fatalf("host is free %v from now", time.Duration(target.host.freeAt-now))
		}
	})
}

// A host that only redirects lead to is known after a kill, by its own row.
func TestRestoredHostHasItsOwnGap(t *testing.T) {
	s := newSchedule(Config{HostGap: time.Second, PrivateHostGap: time.Millisecond}.withDefaults())
	var row ledgerRow
	(&hostRow{id: channel.HostID("127.0.0.1:80"), freeAt: 1e18 + 5e9}).fill(&row)
	s.restorer(1e18)(1, &row)
	s.order(&Order{Channel: channel.ID{1}, URL: "http://127.0.0.1/a", Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1}, 1e18)
	if h := s.targets.get(channel.ID{1}).host; h.freeAt != 1e18+5e9 || s.gapOf(h) != int64(time.Millisecond) {
		t.Errorf("host %+v, gap %v", h, time.Duration(s.gapOf(h)))
	}
}

// A host keeps its gap over a kill whichever of its channels is ordered first: here
// one that the earlier run had not asked for yet.
func TestRestoredGapIsOfTheHost(t *testing.T) {
	const now = int64(1e18)
	s := newSchedule(Config{HostGap: 5 * time.Second}.withDefaults())
	var row ledgerRow
	(&channelRow{id: channel.ID{1}, lastPoll: now - 1e9}).fill(&row)
	s.restorer(now)(1, &row)
	s.order(&Order{Channel: channel.ID{2}, URL: "http://a.example/b", Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1}, now)
	s.promote(now)
	if p, ok := s.begin(now); ok {
		t.Errorf("%s is asked a second after its host was", p.url)
	}
	s.promote(now + 4e9)
	if _, ok := s.begin(now + 4e9); !ok {
		t.Error("not asked when the gap is over")
	}
}
