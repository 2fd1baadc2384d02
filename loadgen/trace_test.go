package loadgen

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func compressLines(t testing.TB, lines ...string) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll([]byte(strings.Join(lines, "\n")), nil)
}

func TestReadTrace(t *testing.T) {
	trace, err := ReadTrace(bytes.NewReader(compressLines(t,
		`{"t":100,"body":""}`,
		`{"t":100.5,"body":"\ufeff<?xml version=\"1.0\"?><rss/>"}`,
		`{"t":160,"b64":"/w=="}`,
	)))
	if err != nil {
		t.Fatal(err)
	}
	if trace.ContentType != RSS.ContentType() {
		t.Errorf("content type %q, want that of the first document with content", trace.ContentType)
	}
	want := []Capture{
		{0, []byte("")},
		{500 * time.Millisecond, []byte("\ufeff<?xml version=\"1.0\"?><rss/>")},
		{time.Minute, []byte{0xff}},
	}
	for i, capture := range trace.Captures {
		if capture.At != want[i].At || !bytes.Equal(capture.Body, want[i].Body) {
			t.Errorf("capture %d: %s %q, want %s %q", i, capture.At, capture.Body, want[i].At, want[i].Body)
		}
	}
}

func TestReadTraceRefuses(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"empty", nil, "no capture"},
		{"no JSON", []string{`{"t":1,"body":"a"}`, `nonsense`}, "capture 1"},
		{"no time", []string{`{"body":"a"}`}, `no time "t"`},
		{"no body", []string{`{"t":1}`}, `neither "body" nor "b64"`},
		{"bad base64", []string{`{"t":1,"b64":"?"}`}, "base64"},
		{"back in time", []string{`{"t":9,"body":"a"}`, `{"t":8,"body":"b"}`}, "before the capture before"},
		{"milliseconds for seconds", []string{`{"t":1612345678,"body":"a"}`, `{"t":1612345678000,"body":"b"}`}, "146 years"},
	}
	for _, test := range tests {
		_, err := ReadTrace(bytes.NewReader(compressLines(t, test.lines...)))
		if !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
	if _, err := ReadTrace(strings.NewReader("plain text")); !errors.Is(err, ErrTrace) {
		t.Errorf("not compressed: %v", err)
	}
	if _, err := ReadTraceFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestSniff(t *testing.T) {
	tests := []struct{ body, want string }{
		{" \n", ""},
		{`[{"title":"<html>"}]`, "application/json"},
		{`<?xml version="1.0"?><!-- --><feed xmlns="x">`, Atom.ContentType()},
		{`<RSS version="2.0">`, RSS.ContentType()},
		{`<!DOCTYPE HTML><html>`, HTML.ContentType()},
		{`<?xml version="1.0"?><note/>`, "application/xml"},
		{`hello`, "text/plain; charset=utf-8"},
	}
	for _, test := range tests {
		if got := sniff([]byte(test.body)); got != test.want {
			t.Errorf("sniff(%q) = %q, want %q", test.body, got, test.want)
		}
	}
}

func TestReplay(t *testing.T) {
	trace := &Trace{Captures: []Capture{{At: 0}, {At: time.Minute}, {At: time.Minute}, {At: time.Hour}}}
	tests := []struct {
		step, at time.Duration
		want     int64
	}{
		{0, 0, 1},
		{0, time.Minute - 1, 1},
		{0, time.Minute, 3}, // the second stood for no time at all
		{0, time.Hour - 1, 3},
		{0, time.Hour, 4},
		{0, 1000 * time.Hour, 4},
		{time.Second, 0, 1},
		{time.Second, time.Second - 1, 1},
		{time.Second, time.Second, 2},
		{time.Second, 3 * time.Second, 4},
		{time.Second, time.Hour, 4},
	}
	for _, test := range tests {
		if got := (Replay{trace, test.step}).Revision(test.at); got != test.want {
			t.Errorf("step %s at %s: revision %d, want %d", test.step, test.at, got, test.want)
		}
	}
}

// The recorded histories use windows of up to 128 MB.
func TestReadRecordedTraces(t *testing.T) {
	const folder = "../../shared/data/traces"
	files, err := filepath.Glob(filepath.Join(folder, "*", "trace.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no recorded histories in " + folder)
	}
	if testing.Short() {
		files = files[:1]
	}
	types := map[string]string{"bbc": RSS.ContentType(), "producthunt": RSS.ContentType(), "github-status": Atom.ContentType(),
		"rust": Atom.ContentType(), "hn": "application/json", "nyt": HTML.ContentType(), "github-tos": HTML.ContentType(), "covid": HTML.ContentType()}
	for _, file := range files {
		trace, err := ReadTraceFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		name := filepath.Base(filepath.Dir(file))
		labels, err := os.ReadFile(filepath.Join(filepath.Dir(file), "labels.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.Count(labels, []byte("\n")) - 1; len(trace.Captures) != want {
			t.Errorf("%s: %d captures, its labels name %d", name, len(trace.Captures), want)
		}
		for prefix, want := range types {
			if strings.HasPrefix(name, prefix) && trace.ContentType != want {
				t.Errorf("%s: content type %q, want %q", name, trace.ContentType, want)
			}
		}
	}
}

// FuzzReadTrace holds that whatever a file says, the result is an error or a
// history that can be replayed.
func FuzzReadTrace(f *testing.F) {
	f.Add([]byte(`{"t":1,"body":"a"}` + "\n" + `{"t":2,"b64":"YQ=="}`))
	f.Add([]byte(`{"t":-1e300,"body":"a","hdr":{"Content-Type":"x"}}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		trace, err := ReadTrace(bytes.NewReader(compressLines(t, string(lines))))
		if err != nil {
			if !errors.Is(err, ErrTrace) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		replay := Replay{Trace: trace}
		last := int64(len(trace.Captures))
		if got := replay.Revision(scheduleEnd); got != last || replay.ChangedAt(1) != 0 || trace.ContentType == "" {
			t.Fatalf("%d captures: at the end revision %d, the first at %s, type %q", last, got, replay.ChangedAt(1), trace.ContentType)
		}
		for revision := int64(1); revision < last; revision++ {
			if replay.ChangedAt(revision) > replay.ChangedAt(revision+1) {
				t.Fatalf("revision %d stands after the next", revision)
			}
		}
	})
}
