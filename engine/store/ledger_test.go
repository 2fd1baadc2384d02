package store

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

func drawID(t *rapid.T) (id channel.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), channel.IDLen, channel.IDLen).Draw(t, "id"))
	return id
}

func drawChannelRow(t *rapid.T) ChannelRow {
	return ChannelRow{
		ID: drawID(t), Incarnation: rapid.Uint64().Draw(t, "incarnation"),
		LastPoll: rapid.Int64().Draw(t, "last"), NotBefore: rapid.Int64().Draw(t, "not before"),
		Size: rapid.Uint32().Draw(t, "size"), Status: rapid.Uint16().Draw(t, "status"),
		Failures: rapid.Uint16().Draw(t, "failures"), Refused: rapid.Bool().Draw(t, "refused"), Shown: rapid.Bool().Draw(t, "shown"),
		Drift: rapid.Uint16().Draw(t, "drift"), Rank: rapid.Uint16Range(0, 255).Draw(t, "rank"),
		Rate: overlay.Rate{Polls: rapid.Uint32Range(0, 1<<16-1).Draw(t, "polls"), Intervals: rapid.Uint32Range(0, 255).Draw(t, "intervals")},
	}
}

func drawHostRow(t *rapid.T) HostRow {
	return HostRow{
		ID: drawID(t), FreeAt: rapid.Int64().Draw(t, "free"),
		Until: rapid.Int64().Draw(t, "until"), Last: rapid.Int64().Draw(t, "last"), Good: rapid.Int64().Draw(t, "good"),
		Count: rapid.Byte().Draw(t, "count"), Denied: rapid.Byte().Draw(t, "denied"),
	}
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
		bit := rapid.IntRange(0, RowLen*8-1).Draw(t, "bit")
		if row[bit/8] ^= 1 << (bit % 8); row.intact() {
			t.Fatalf("bit %d flipped unnoticed", bit)
		}
	})
}

// testConfig is a configuration of a store in memory.
func testConfig(fs vfs.FS) Config {
	return Config{
		Dir: "cache", FS: fs, CacheMemory: 1 << 20, Logger: slog.New(slog.DiscardHandler), Fatal: func(err error) { panic(err) },
	}
}

// inMemory is a Config with an empty folder.
func inMemory(t *testing.T) Config {
	t.Helper()
	c := testConfig(vfs.NewMem())
	if err := c.FS.MkdirAll(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

// overwrite changes bytes of the ledger.
func overwrite(t *testing.T, c Config, offset int64, data []byte) {
	t.Helper()
	file, err := c.FS.OpenReadWrite("cache/ledger", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = file.WriteAt(data, offset)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readRows is what a ledger holds when it is opened.
type readRows struct {
	channels map[int32]ChannelRow
	free     []int32
}

func (r *readRows) Channel(number int32, row *ChannelRow) { r.channels[number] = *row }
func (r *readRows) Host(number int32, _ *HostRow)         { r.free = append(r.free, -number) }
func (r *readRows) Free(number int32)                     { r.free = append(r.free, number) }

// countOf returns what a counter has counted.
func countOf(t *testing.T, c prometheus.Counter) int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return int(families[0].Metric[0].GetCounter().GetValue())
}

// reopen returns the channels that a ledger holds, by row, the free rows, and how
// many rows could not be read; then it writes rows.
func reopen(t *testing.T, c Config, write map[int32]ChannelRow) (rows map[int32]ChannelRow, free []int32, lost int) {
	t.Helper()
	read := readRows{channels: map[int32]ChannelRow{}}
	m := NewMetrics()
	l, err := OpenLedger(c, m, &read)
	if err != nil {
		t.Fatal(err)
	}
	for number, row := range write {
		l.WriteChannel(number, &row)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return read.channels, read.free, countOf(t, m.ledgerLost)
}

// row 59: rows that were torn or changed on disk are skipped, and counted; the others and
// free ones are what they were.
func TestLedgerDamage(t *testing.T) {
	c := inMemory(t)
	reopen(t, c, map[int32]ChannelRow{1: {LastPoll: 1}, 2: {LastPoll: 2}, 3: {LastPoll: 3}, 5: {LastPoll: 5}, 2000: {LastPoll: 6}})
	for offset, data := range map[int64]string{2*RowLen + 32: "x", 2001 * RowLen: "cut short"} {
		overwrite(t, c, offset, []byte(data))
	}
	rows, free, lost := reopen(t, c, nil)
	if len(rows) != 4 || rows[1].LastPoll != 1 || rows[3].LastPoll != 3 || rows[5].LastPoll != 5 || rows[2000].LastPoll != 6 {
		t.Errorf("rows %+v", rows)
	}
	if lost != 2 || len(free) != 2000-4 || free[0] != 2 || free[1] != 4 {
		t.Errorf("%d lost, %d free", lost, len(free))
	}
}

// What is no ledger is made one, and nothing of before comes back.
func TestLedgerIsReplaced(t *testing.T) {
	c := inMemory(t)
	reopen(t, c, map[int32]ChannelRow{1: {LastPoll: 1}})
	overwrite(t, c, 8, []byte("garbage"))
	for range 2 {
		if rows, free, lost := reopen(t, c, nil); len(rows)+len(free)+lost != 0 {
			t.Errorf("rows %v, free %v, %d lost", rows, free, lost)
		}
	}
}

// The log hears of the first failure at once, of each change that lasts, and never
// twice within a minute, however fast rows fail and succeed in turns.
func TestFailureLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log failureLog
		now := time.Unix(1e9, 0)
		told, last := []time.Time(nil), false
		for range rapid.IntRange(1, 200).Draw(t, "writes") {
			now = now.Add(time.Duration(rapid.Int64Range(1, 30_000).Draw(t, "ms")) * time.Millisecond)
			failed := rapid.Bool().Draw(t, "failed")
			if !log.due(failed, now) {
				if failed != last && (len(told) == 0 || now.Sub(told[len(told)-1]) >= logEvery) {
					t.Fatalf("failed %v, not told", failed)
				}
				continue
			}
			if failed == last {
				t.Fatalf("failed %v, told twice", failed)
			}
			if len(told) > 0 && now.Sub(told[len(told)-1]) < logEvery {
				t.Fatalf("told again after %v", now.Sub(told[len(told)-1]))
			}
			told, last = append(told, now), failed
		}
	})
}

// Rows are used again, and those that the file has already are not given out.
func TestRowNumbers(t *testing.T) {
	var n RowNumbers
	n.Used(3)
	n.Give(2)
	n.Give(0) // stands for none
	if got := [3]int32{n.Take(), n.Take(), n.Take()}; got != [3]int32{2, 4, 5} {
		t.Errorf("gave %v, want 2, 4, 5", got)
	}
	if rows, free := n.Count(); rows != 5 || free != 0 {
		t.Errorf("%d rows, %d free", rows, free)
	}
}
