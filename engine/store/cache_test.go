package store

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// core extracts what a plain text says.
func core(t *testing.T, body string) *deltas.Core {
	t.Helper()
	core, err := deltas.Extract(deltas.Document{Body: []byte(body), ContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

func newCache(t *testing.T, fs vfs.FS) *Cache {
	t.Helper()
	c, err := OpenCache(testConfig(fs), NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCacheKeepsOnlyWhatCounts(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.Close()
	id, neighbour := channel.ID{1}, channel.ID{1, 19: 1}
	one, two, three := core(t, "one"), core(t, "two"), core(t, "three")
	check := func(step string, id channel.ID, want ...*deltas.Core) {
		t.Helper()
		for _, core := range []*deltas.Core{one, two, three} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == core
			}
			got, err := c.Content(id, core.Hash)
			if err != nil || (got != nil) != wanted || got != nil && !bytes.Equal(got.Text, core.Text) {
				t.Errorf("%s: content %s = %v, %v; want it: %v", step, core.Hash, got, err, wanted)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.Stage(neighbour, one))
	do(c.Stage(id, one))
	check("staged", id, one)
	do(c.Stage(id, two))
	check("staged beside another", id, one, two)
	do(c.StageAlone(id, three, one.Hash))
	check("staged alone, but for what is kept", id, one, three)
	do(c.Adopt(id, Record{Incarnation: 1, Version: 2, Hash: three.Hash}, nil, three.Hash, one.Hash, deltas.Hash{}))
	check("adopted", id, three)
	do(c.Adopt(id, Record{Incarnation: 1, Version: 3, Hash: two.Hash}, two, three.Hash))
	check("adopted and written", id, two)
	do(c.Stage(id, one))
	do(c.StageAlone(id, two))
	check("staged alone", id, two)
	do(c.Stage(id, one))
	do(c.Keep(id, two))
	check("kept", id, two)
	check("the neighbour", neighbour, one)
	do(c.Purge(id))
	check("purged", id)
	check("the neighbour still", neighbour, one)
	if _, ok, err := c.Record(id); ok || err != nil {
		t.Errorf("record after purge: %v, %v", ok, err)
	}
	var seen []channel.ID
	do(c.Each(func(id channel.ID) bool { seen = append(seen, id); return true }))
	if len(seen) != 1 || seen[0] != neighbour {
		t.Errorf("each visits %v", seen)
	}
}

// row 59: what is there but not what it says is as good as not there.
func TestCacheDistrustsItself(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.Close()
	id, one := channel.ID{1}, core(t, "one")
	two := core(t, "two")
	for name, value := range map[string][]byte{
		"other content": c.packer.Append(nil, two), "other text": two.Text, "no content": []byte("\x00garbage"), "nothing": nil,
	} {
		if err := c.db.Set(ContentKey(id, one.Hash), value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Content(id, one.Hash); got != nil || err != nil {
			t.Errorf("%s: content = %v, %v", name, got, err)
		}
		if _, ok, _ := c.get(ContentKey(id, one.Hash)); ok {
			t.Errorf("%s is still there", name)
		}
	}
	if err := c.db.Set(RecordKey(id), []byte{recordFormat + 1}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.Record(id); ok || !errors.Is(err, errRecord) {
		t.Errorf("a record of another format: %v, %v", ok, err)
	}
	if _, ok, err := c.Record(id); ok || err != nil {
		t.Errorf("and then: %v, %v", ok, err)
	}
}

// Content that was written before contents were packed is read.
func TestCacheReadsPlainText(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.Close()
	id, one := channel.ID{1}, core(t, "one")
	if err := c.db.Set(ContentKey(id, one.Hash), one.Text, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Content(id, one.Hash); err != nil || got == nil || !bytes.Equal(got.Text, one.Text) {
		t.Errorf("content = %v, %v", got, err)
	}
}

func TestCacheLogger(t *testing.T) {
	var out bytes.Buffer
	l := pebbleLogger{slog.New(slog.NewTextHandler(&out, nil)), func(err error) { panic(err) }}
	l.Infof("chatter %d", 1)
	l.Errorf("trouble %d", 2)
	if text := out.String(); strings.Contains(text, "chatter") || !strings.Contains(text, "trouble 2") {
		t.Errorf("logged %q", text)
	}
	defer func() {
		if recover() == nil {
			t.Error("Fatalf returned")
		}
	}()
	l.Fatalf("the end")
}

func drawRecord(t *rapid.T) Record {
	text := func(name string) string { return rapid.StringN(0, 100, 600).Draw(t, name) }
	duration := func(name string) time.Duration {
		return time.Duration(rapid.Int64Range(0, 1e9).Draw(t, name)) * time.Second
	}
	r := Record{
		Incarnation: rapid.Uint64().Draw(t, "incarnation"),
		Version:     rapid.Uint64().Draw(t, "version"),
		Holding: Holding{
			RawHash: rapid.Uint64().Draw(t, "raw"),
			Texts:   NewTexts(text("etag"), text("modified"), text("url"), rapid.StringN(0, 100, 1024).Draw(t, "feed")),
			Kind:    deltas.Kind(rapid.Uint8().Draw(t, "kind")), OK: true,
		},
		Lifetime: duration("fresh"), Aged: rapid.Uint8().Draw(t, "aged"), Source: fetcher.Source(rapid.IntRange(0, 2).Draw(t, "source")),
		Hints: deltas.Hints{
			TTL: duration("ttl"), UpdatePeriod: duration("period"),
			SkipHours: rapid.Uint32().Draw(t, "hours"), SkipDays: rapid.Uint8().Draw(t, "days"),
		},
	}
	copy(r.Hash[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "hash"))
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		data := r.append(nil)
		if got, err := parseRecord(data); err != nil || got != r {
			t.Fatalf("%+v came back as %+v, %v", r, got, err)
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if got, err := parseRecord(data[:cut]); !errors.Is(err, errRecord) {
			t.Fatalf("cut to %d of %d bytes: %+v, %v", cut, len(data), got, err)
		}
	})
}

// A record that was written before origins' words, or before the age of answers, were kept
// is read.
func TestRecordOfEarlierFormat(t *testing.T) {
	bare := Record{Incarnation: 3, Version: 300, Hash: deltas.Hash{7}, Holding: Holding{
		RawHash: 5, Texts: NewTexts("e", "m", "u", "f"), OK: true,
	}}
	withWords := bare
	withWords.Lifetime, withWords.Source = time.Hour, fetcher.SourceMaxAge
	for format, test := range map[byte]struct {
		want  Record
		later int // zeros at the end that it does not have
	}{1: {bare, 8}, 2: {withWords, 1}} {
		data := test.want.append(nil)
		data = data[:len(data)-test.later]
		data[0] = format
		if got, err := parseRecord(data); err != nil || got != test.want {
			t.Errorf("format %d: %+v, %v", format, got, err)
		}
	}
}

// FuzzParseRecord: bytes are refused, or are a record that comes back the same.
func FuzzParseRecord(f *testing.F) {
	f.Add(Record{Incarnation: 1, Version: 2, Holding: Holding{Texts: NewTexts("e", "m", "u", "f")}}.append(nil))
	f.Add([]byte{recordFormat, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			if r != (Record{}) || !errors.Is(err, errRecord) {
				t.Fatalf("%+v and %v", r, err)
			}
			return
		}
		if again, err := parseRecord(r.append(nil)); err != nil || again != r {
			t.Fatalf("%+v came back as %+v, %v", r, again, err)
		}
	})
}
