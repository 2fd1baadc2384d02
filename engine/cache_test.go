package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
)

func newCache(t *testing.T, fs vfs.FS) *cache {
	t.Helper()
	c, err := openCache(Config{Dir: "cache", fs: fs}.withDefaults(), newMetrics())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCacheKeepsOnlyWhatCounts(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.close()
	id, neighbour := channel.ID{1}, channel.ID{1, 19: 1}
	one, two, three := coreOf(t, "one"), coreOf(t, "two"), coreOf(t, "three")
	check := func(step string, id channel.ID, want ...*deltas.Core) {
		t.Helper()
		for _, core := range []*deltas.Core{one, two, three} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == core
			}
			got, err := c.content(id, core.Hash)
			if err != nil || (got != nil) != wanted || got != nil && !bytes.Equal(got.Text, core.Text) {
				t.Errorf("%s: content %s = %v, %v; want it: %v", step, saying(core), got, err, wanted)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.stage(neighbour, one))
	do(c.stage(id, one))
	check("staged", id, one)
	do(c.stage(id, two))
	check("staged beside another", id, one, two)
	do(c.stageAlone(id, three, one.Hash))
	check("staged alone, but for what is kept", id, one, three)
	do(c.adopt(id, record{incarnation: 1, version: 2, hash: three.Hash}, nil, three.Hash, one.Hash, deltas.Hash{}))
	check("adopted", id, three)
	do(c.adopt(id, record{incarnation: 1, version: 3, hash: two.Hash}, two, three.Hash))
	check("adopted and written", id, two)
	do(c.stage(id, one))
	do(c.stageAlone(id, two))
	check("staged alone", id, two)
	check("the neighbour", neighbour, one)
	do(c.purge(id))
	check("purged", id)
	check("the neighbour still", neighbour, one)
	if _, ok, err := c.record(id); ok || err != nil {
		t.Errorf("record after purge: %v, %v", ok, err)
	}
	var seen []channel.ID
	do(c.each(func(id channel.ID) bool { seen = append(seen, id); return true }))
	if len(seen) != 1 || seen[0] != neighbour {
		t.Errorf("each visits %v", seen)
	}
}

// row 59: what is there but not what it says is as good as not there.
func TestCacheDistrustsItself(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.close()
	id, core := channel.ID{1}, coreOf(t, "one")
	two := coreOf(t, "two")
	for name, value := range map[string][]byte{
		"other content": c.packer.Append(nil, two), "other text": two.Text, "no content": []byte("\x00garbage"), "nothing": nil,
	} {
		if err := c.db.Set(contentKey(id, core.Hash), value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if got, err := c.content(id, core.Hash); got != nil || err != nil {
			t.Errorf("%s: content = %v, %v", name, got, err)
		}
		if _, ok, _ := c.get(contentKey(id, core.Hash)); ok {
			t.Errorf("%s is still there", name)
		}
	}
	if err := c.db.Set(recordKey(id), []byte{recordFormat + 1}, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.record(id); ok || !errors.Is(err, errRecord) {
		t.Errorf("a record of another format: %v, %v", ok, err)
	}
	if _, ok, err := c.record(id); ok || err != nil {
		t.Errorf("and then: %v, %v", ok, err)
	}
}

// Content that was written before contents were packed is read.
func TestCacheReadsPlainText(t *testing.T) {
	c := newCache(t, vfs.NewMem())
	defer c.close()
	id, core := channel.ID{1}, coreOf(t, "one")
	if err := c.db.Set(contentKey(id, core.Hash), core.Text, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if got, err := c.content(id, core.Hash); err != nil || got == nil || !bytes.Equal(got.Text, core.Text) {
		t.Errorf("content = %v, %v", got, err)
	}
}

// Each file that says that a newer program wrote it keeps the engine closed, and what
// is there as it is: row 64.
func TestRow64Cache(t *testing.T) {
	var header ledgerRow
	header[4], header[8] = headerKind, ledgerFormat+1
	header.seal()
	for name, content := range map[string]string{
		formatFile: formatText(cacheFormat + 1), ledgerFile: string(header[:]), "marker.format-version.000099.999": "",
	} {
		files := vfs.NewMem()
		must(t, newCache(t, files).close())
		replace(t, files, "cache/"+name, []byte(content))
		before := filesOf(t, files)
		_, err := Open(Config{Dir: "cache", fs: files}, nil, nil, nil)
		var newer *datadir.FormatError
		if !errors.As(err, &newer) || newer.File != "cache/"+name || newer.Have <= newer.Supported {
			t.Errorf("%s: Open: %v", name, err)
		}
		if after := filesOf(t, files); !maps.Equal(before, after) {
			t.Errorf("%s: files were %q, are %q", name, before, after)
		}
	}
}

// filesOf returns what the files of the cache hold.
func filesOf(t *testing.T, files vfs.FS) map[string]string {
	t.Helper()
	names, err := files.List("cache")
	must(t, err)
	all := map[string]string{}
	for _, name := range names {
		all[name] = string(contentOf(t, files, "cache/"+name))
	}
	return all
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

func drawRecord(t *rapid.T) record {
	r := record{
		incarnation: rapid.Uint64().Draw(t, "incarnation"),
		version:     rapid.Uint64().Draw(t, "version"),
		holding:     holding{rawHash: rapid.Uint64().Draw(t, "raw"), feedURL: rapid.StringN(0, 100, 1024).Draw(t, "feed"), ok: true},
	}
	copy(r.hash[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "hash"))
	text := func(name string) string { return rapid.StringN(0, 100, 600).Draw(t, name) }
	r.holding.validators = newValidators(text("etag"), text("modified"), text("url"))
	r.holding.kind = deltas.Kind(rapid.Uint8().Draw(t, "kind"))
	duration := func(name string) time.Duration {
		return time.Duration(rapid.Int64Range(0, 1e9).Draw(t, name)) * time.Second
	}
	r.words = words{
		fresh: duration("fresh"), source: fetcher.Source(rapid.IntRange(0, 2).Draw(t, "source")),
		hints: deltas.Hints{
			TTL: duration("ttl"), UpdatePeriod: duration("period"),
			SkipHours: rapid.Uint32().Draw(t, "hours"), SkipDays: rapid.Uint8().Draw(t, "days"),
		},
	}
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

// A record that was written before origins' words were kept is read.
func TestRecordOfFormat1(t *testing.T) {
	want := record{incarnation: 3, version: 300, hash: deltas.Hash{7}, holding: holding{
		rawHash: 5, validators: newValidators("e", "m", "u"), feedURL: "f", ok: true,
	}}
	data := want.append(nil)
	data = data[:len(data)-7] // seven zeros
	data[0] = 1
	if got, err := parseRecord(data); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzParseRecord: bytes are refused, or are a record that comes back the same.
func FuzzParseRecord(f *testing.F) {
	f.Add(record{incarnation: 1, version: 2, holding: holding{validators: newValidators("e", "m", "u"), feedURL: "f"}}.append(nil))
	f.Add([]byte{recordFormat, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			if r != (record{}) || !errors.Is(err, errRecord) {
				t.Fatalf("%+v and %v", r, err)
			}
			return
		}
		if again, err := parseRecord(r.append(nil)); err != nil || again != r {
			t.Fatalf("%+v came back as %+v, %v", r, again, err)
		}
	})
}

func TestValidators(t *testing.T) {
	if v := newValidators("", "", "http://a.example/"); v != (validators{}) {
		t.Errorf("an address alone validates nothing: %+v", v)
	}
	if v := newValidators(strings.Repeat("e", maxValidators), "m", ""); v != (validators{}) {
		t.Errorf("%d bytes are kept", len(v.text))
	}
	if e, m, u := newValidators("e", "", "u").split(); e != "e" || m != "" || u != "u" {
		t.Errorf("split = %q, %q, %q", e, m, u)
	}
}
