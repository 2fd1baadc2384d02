package stream

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// scattered is a place in which each of some ranges lags by about a day.
func scattered(ranges int) place {
	p := place{base: channel.EndOf(1 << 50)}
	for i := range ranges {
		from, to := i*channel.Buckets/ranges, (i+1)*channel.Buckets/ranges-1
		p.add(channel.Bucket(from), channel.Bucket(to), channel.EndOf(1<<50-86_400_000_000-uint64(i)))
	}
	return p
}

// The length of a cursor: a header of a request has room for 8 KiB and more.
func TestCursorLength(t *testing.T) {
	for _, c := range []struct {
		ranges, runs, characters int
	}{{0, 0, 26}, {16, 16, 260}, {256, 256, 3439}, {1024, 1024, 13679}} {
		p := place{base: channel.EndOf(1 << 50)}
		if c.ranges > 0 {
			p = scattered(c.ranges)
		}
		text := encodeCursor(1<<63, p)
		if len(p.except) != c.runs || len(text) != c.characters {
			t.Errorf("%d ranges: %d runs in %d characters, want %d in %d", c.ranges, len(p.except), len(text), c.runs, c.characters)
		}
		if _, again, err := decodeCursor(text); err != nil || !again.same(p) {
			t.Errorf("%d ranges: read as %v, %v", c.ranges, again, err)
		}
	}
}

// The longest cursor that is read, which package server has to let through.
func TestCursorLongest(t *testing.T) {
	if got := cursorEncoding.EncodedLen(cursorBytes + runBytes*maxRuns); got != 21871 {
		t.Errorf("%d characters", got)
	}
}

// A cursor of the version before is the same place in all ranges.
func TestCursorVersion1(t *testing.T) {
	epoch, p, err := decodeCursor("AQAAAAAAAAAHAAAAAAC8YU4P_w")
	if want := (place{base: channel.Cursor{Stamp: 12345678, Bucket: 4095}}); err != nil || epoch != 7 || !p.same(want) {
		t.Errorf("epoch %d, %v, %v; want 7, %v", epoch, p, err, want)
	}
}

func TestBadCursors(t *testing.T) {
	fixed := "\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x09\x00\x05"
	good := fixed + "\x03\x01\x08\x06" // buckets 3 and 4 are at stamp 13, bucket 6
	epoch, p, err := decodeCursor(base64.RawURLEncoding.EncodeToString([]byte(good)))
	want := place{channel.Cursor{Stamp: 9, Bucket: 5}, []run{{3, 4, channel.Cursor{Stamp: 13, Bucket: 6}}}}
	if err != nil || epoch != 7 || !p.same(want) {
		t.Errorf("epoch %d, %v, %v; want 7, %v", epoch, p, err, want)
	}
	for name, raw := range map[string]string{
		"empty":                    "",
		"short":                    fixed[:18],
		"version 0":                "\x00" + fixed[1:],
		"version 3":                "\x03" + fixed[1:],
		"version 1 with runs":      "\x01" + good[1:],
		"bucket 4096":              fixed[:17] + "\x10\x00",
		"cut run":                  good[:len(good)-1],
		"run behind the last":      fixed + "\xff\x1f\x01\x08\x06",
		"gap that overflows":       fixed + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x08\x06",
		"number of 11 bytes":       fixed + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x08\x06",
		"bucket 4096 of a run":     fixed + "\x03\x01\x08\x80\x20",
		"long number":              fixed + "\x83\x00\x01\x08\x06",
		"run at the base":          fixed + "\x03\x01\x00\x05",
		"one run as two":           good + "\x00\x00\x08\x06",
		"more runs than may be":    fixed + strings.Repeat("\x01\x00\x08\x06", maxRuns+1),
		"more bytes than may be":   fixed + strings.Repeat("\x00", runBytes*maxRuns+1),
		"rest behind the last run": good + "\x00",
	} {
		if _, _, err := decodeCursor(base64.RawURLEncoding.EncodeToString([]byte(raw))); !errors.Is(err, ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(encodeCursor(7, place{base: channel.Cursor{Stamp: 12345678, Bucket: 4095}}))
	f.Add(encodeCursor(7, scattered(5)))
	f.Add("")
	f.Add("AQAAAAAAAAAHAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		epoch, p, err := decodeCursor(text)
		if err != nil {
			if !errors.Is(err, ErrCursor) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again := encodeCursor(epoch, p)
		if again != text && !(strings.HasPrefix(text, "A") && again[2:] == text[2:]) { // version 1 differs in that alone
			t.Fatalf("%q is also %q", text, again)
		}
		if !p.covers(p) || !everything.covers(p) {
			t.Fatalf("%v is before itself", p)
		}
		if before := p.base.Before(); p.base.Stamp > 0 && !before.Less(p.base) {
			t.Fatalf("%v is not before %v", before, p.base)
		}
	})
}
