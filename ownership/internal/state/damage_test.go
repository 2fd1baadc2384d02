package state

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// Wherever a file of the state is damaged, a read fails or is right: what cannot be read is
// never taken for what does not exist.
func TestDamageIsNoAbsence(t *testing.T) {
	whole := vfs.NewMem()
	open := func(files vfs.FS) (*machine, error) {
		options := &pebble.Options{FS: files, FormatMajorVersion: disk.Format, DisableWAL: true, Logger: quiet{t}}
		options.EventListener = &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}} // whose default ends the process
		for i := range options.Levels {
			options.Levels[i].BlockSize = 128
		}
		db, err := pebble.Open("state", options)
		if err != nil {
			return nil, err
		}
		m := &machine{states: New(db)}
		m.Machine, err = m.states.Machine(channel.Range{To: channel.Buckets - 1})
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return m, nil
	}
	m, err := open(whole)
	if err != nil {
		t.Fatal(err)
	}
	var ids []channel.ID
	var wishes []NewSubscription
	for _, url := range []string{"http://a.example/", "http://b.example/", "http://c.example/"} {
		id := channel.IDOf(url)
		ids = append(ids, id)
		at := 0
		for at < len(wishes) && string(wishes[at].Channel[:]) < string(id[:]) {
			at++
		}
		wishes = append(wishes[:at], append([]NewSubscription{{URL: url, Channel: id, Sink: webhook}}, wishes[at:]...)...)
		m.apply(t, day0, subscribeCommand(item(url, stream), item(url, webhook)))
		for version := range uint64(4) {
			if result := m.apply(t, day0, commitCommand(id, 1, version, version+1, strings.Repeat("x", 60*int(min(version, 1))))); result.Err != nil {
				t.Fatal(result.Err)
			}
		}
	}
	reads := map[string]func(m *machine) (any, error){
		"since": func(m *machine) (any, error) {
			updates, _, err := m.Since(channel.Cursor{}, m.Time(), 100)
			return updates, err
		},
		"chosen": func(m *machine) (any, error) { return m.Chosen(ids, channel.Cursor{}, m.Time(), 100) },
		"same":   func(m *machine) (any, error) { return m.states.Same(context.Background(), wishes) },
		"updates": func(m *machine) (any, error) {
			updates, gap, err := m.states.Updates(ids[1], 1, 100)
			return []any{updates, gap}, err
		},
		"subscriptions": func(m *machine) (any, error) {
			page, _, err := m.states.Subscriptions(SubscriptionQuery{Limit: 100})
			return page, err
		},
	}
	if err := m.db.Flush(); err != nil {
		t.Fatal(err)
	}
	right := make(map[string]any)
	for name, read := range reads {
		if right[name], err = read(m); err != nil || reflect.ValueOf(right[name]).IsZero() {
			t.Fatalf("%s: %v, %v", name, right[name], err)
		}
	}
	if err := m.db.Close(); err != nil {
		t.Fatal(err)
	}

	refused := make(map[string]int)
	for offset := int64(0); ; offset += 61 {
		files := vfs.NewMem()
		if ok, err := vfs.Clone(whole, files, "state", "state"); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if !flipTable(t, files, offset) {
			break
		}
		m, err := open(files)
		if err != nil {
			continue // found at once
		}
		for name, read := range reads {
			got, err := read(m)
			switch {
			case err != nil && !errors.Is(err, disk.ErrCorrupt):
				t.Errorf("byte %d is damaged, %s: %v, which does not say so", offset, name, err)
			case err != nil:
				refused[name]++
			case !reflect.DeepEqual(got, right[name]):
				t.Errorf("byte %d is damaged, %s: %+v, want %+v or an error", offset, name, got, right[name])
			}
		}
		if err := m.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name := range reads {
		if refused[name] == 0 {
			t.Errorf("%s never met damage: the test shows nothing of it", name)
		}
	}
}

// flipTable flips a byte of the state's only sorted file, if it is that long.
func flipTable(t *testing.T, files vfs.FS, offset int64) bool {
	t.Helper()
	names, err := files.List("state")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			tables = append(tables, files.PathJoin("state", name))
		}
	}
	if len(tables) != 1 {
		t.Fatalf("sorted files %q, want one", tables)
	}
	file, err := files.OpenReadWrite(tables[0], vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || offset >= info.Size() {
		return false
	}
	at := make([]byte, 1)
	if _, err := file.ReadAt(at, offset); err != nil {
		t.Fatal(err)
	}
	at[0] ^= 0xFF
	if _, err := file.WriteAt(at, offset); err != nil {
		t.Fatal(err)
	}
	return true
}

// A record that names a channel in too few bytes is an error of the listing that meets it.
func TestShortChannelInList(t *testing.T) {
	m := newMachine(t)
	id := channel.IDOf("http://example.com/")
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	if err := m.db.Set(bucketItemKey(id.Bucket(), kindSeq, 2), id[:3], pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if page, _, err := m.states.Subscriptions(SubscriptionQuery{Limit: 10}); !errors.Is(err, ErrMisfit) {
		t.Errorf("%v, %v", page, err)
	}
}

// Behind the last version that there can be nothing is missing.
func TestNoGapBehindAll(t *testing.T) {
	m := newMachine(t)
	id := channel.IDOf("http://example.com/")
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	for version := range uint64(2) {
		m.apply(t, day0, commitCommand(id, 1, version, version+1, strings.Repeat("x", int(version))))
	}
	if updates, gap, err := m.states.Updates(id, math.MaxUint64, 1); err != nil || gap != nil || len(updates) > 0 {
		t.Errorf("updates %v, gap %v, %v", updates, gap, err)
	}
}
