package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// feedFile writes an RSS feed of the items numbered and returns its path.
func feedFile(t *testing.T, name string, items ...int) string {
	t.Helper()
	return textFile(t, name, feedText(items...))
}

func feedText(items ...int) string {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>News</title>`)
	for _, n := range items {
		fmt.Fprintf(&b, `<item><guid>id-%d</guid><title>Story %d</title><description>Text %d.</description></item>`, n, n, n)
	}
	b.WriteString("</channel></rss>")
	return b.String()
}

func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiffCommand(t *testing.T) {
	old := feedFile(t, "old.xml", 3, 2, 1)
	tests := []struct {
		name string
		next string
		code int
		out  string
	}{
		{"the same in another order", feedText(1, 2, 3), exitDone, ""},
		{"one more, one withdrawn", feedText(4, 3, 1), exitNo, "" +
			"  + Story 4\n  - Story 2\n" +
			"    @@ -6,3 +5,0 @@\n    -entry: id-2\n    -title: Story 2\n    -  Text 2.\n" +
			"    @@ -11,0 +9,3 @@\n    +entry: id-4\n    +title: Story 4\n    +  Text 4.\n"},
	}
	for _, test := range tests {
		got := runCorona(t.Context(), test.next, "diff", old, "-")
		if got.code != test.code || !strings.HasPrefix(got.out, test.out) || test.out == "" && got.out != "" {
			t.Errorf("%s: exit %d, printed\n%s%s\nwant exit %d,\n%s", test.name, got.code, got.out, got.errs, test.code, test.out)
		}
	}
}

func TestDiffCommandJSON(t *testing.T) {
	old, next := feedFile(t, "old.xml", 3, 2, 1), feedFile(t, "new.xml", 4, 3, 2)
	got := runCorona(t.Context(), "", "diff", "--json", old, next)
	var result diffResult
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitNo {
		t.Fatalf("exit %d, %v: %s%s", got.code, err, got.out, got.errs)
	}
	if !result.Germane || result.Kind != "feed" || result.Entries != (entryCounts{Added: 1}) || len(result.Ops) != 2 ||
		result.OldBytes != len(feedText(3, 2, 1)) || result.DeltaBytes == 0 || result.CoreBytes == 0 {
		t.Errorf("%+v", result)
	}
}

// What patch makes of OLD is what core prints of NEW.
func TestPatchCommand(t *testing.T) {
	old, next := feedFile(t, "old.xml", 2, 1), feedFile(t, "new.xml", 3, 2, 1)
	delta := filepath.Join(t.TempDir(), "delta")
	if got := runCorona(t.Context(), "", "diff", old, next, "--out", delta); got.code != exitNo {
		t.Fatalf("diff: exit %d: %s", got.code, got.errs)
	}
	patched, core := runCorona(t.Context(), "", "patch", old, delta), runCorona(t.Context(), "", "core", next)
	if patched.code != exitDone || patched.out != core.out || !strings.Contains(core.out, "title: Story 3\n") {
		t.Errorf("patch: exit %d, %s\n%s\nwant\n%s", patched.code, patched.errs, patched.out, core.out)
	}
	wrong := runCorona(t.Context(), "", "patch", next, delta)
	if wrong.code != exitUsage || !strings.Contains(wrong.errs, "another base") || strings.Count(wrong.errs, "\n") != 1 {
		t.Errorf("patch of another base: exit %d, %q", wrong.code, wrong.errs)
	}
}

// TestCoreAndPatchJSON: both say the same of the same core content, but for what it was
// made from.
func TestCoreAndPatchJSON(t *testing.T) {
	old, next := feedFile(t, "old.xml", 2, 1), feedFile(t, "new.xml", 3, 2, 1)
	delta := filepath.Join(t.TempDir(), "delta")
	runCorona(t.Context(), "", "diff", old, next, "--out", delta)
	core, patched := runCorona(t.Context(), "", "core", next, "--json"), runCorona(t.Context(), "", "patch", old, delta, "--json")
	checkGolden(t, "core.json", core.out)
	checkGolden(t, "patch.json", patched.out)
	var ofCore, ofPatch coreResult
	if err := errors.Join(json.Unmarshal([]byte(core.out), &ofCore), json.Unmarshal([]byte(patched.out), &ofPatch)); err != nil {
		t.Fatal(err)
	}
	if text := runCorona(t.Context(), "", "core", next).out; ofCore.Text != text || ofCore.CoreBytes != len(text) || ofCore.DocumentBytes != len(feedText(3, 2, 1)) {
		t.Errorf("core: %+v, want the text %q", ofCore, text)
	}
	if info, err := os.Stat(delta); err != nil || ofPatch.DeltaBytes != int(info.Size()) {
		t.Errorf("patch: %+v, of a delta %v, %v", ofPatch, info, err)
	}
	ofCore.DocumentBytes, ofPatch.DeltaBytes = 0, 0
	if !reflect.DeepEqual(ofCore, ofPatch) {
		t.Errorf("core says %+v, patch %+v", ofCore, ofPatch)
	}
	page := textFile(t, "page.html", `<title>T</title><link rel="alternate" type="application/rss+xml" href="/f.xml"><p>Hello`)
	checkGolden(t, "core-page.json", runCorona(t.Context(), "", "core", page, "--url", "https://example.com/", "--json").out)
	wrong := runCorona(t.Context(), "", "patch", next, delta, "--json")
	if wrong.code != exitUsage || wrong.out != "" {
		t.Errorf("patch of another base: exit %d, printed %q", wrong.code, wrong.out)
	}
}

func TestCoreCommand(t *testing.T) {
	page := textFile(t, "page.html", `<title>T</title><p>Hello <a href="/x">there</a><script>no</script>`)
	const want = "corona-core 1 html\ntitle: T\n\nHello there ⟨/x⟩\n"
	if got := runCorona(t.Context(), "", "core", page, "--url", "https://example.com/"); got.code != exitDone || got.out != want {
		t.Errorf("exit %d, %q%s; want %q", got.code, got.out, got.errs, want)
	}
	bad := []struct {
		args   []string
		stdin  string
		reason string
	}{
		{[]string{"core", "no-such-file"}, "", "no such file"},
		{[]string{"core"}, "", "FILE is missing"},
		{[]string{"core", "-"}, "", "empty"},
		{[]string{"core", "-"}, "<rss><channel>", "EOF"},
		{[]string{"core", "-", "--type", "image"}, "x", "--type"},
		{[]string{"core", "-", "--type", "json"}, "x", "not valid JSON"},
		{[]string{"core", "-", "--url", "example.com/page"}, "x", `--url "example.com/page": want a whole URL`},
		{[]string{"diff", "-", "-"}, "x", "OLD and NEW: only one can be standard input (see corona diff --help)"},
		{[]string{"patch", "-", "-"}, "x", "OLD and DELTA: only one"},
		{[]string{"trace", "-", "--url", "http://a b/"}, "x", `--url "http://a b/"`},
		{[]string{"trace", "-"}, "", "-: no capture in it"},
		{[]string{"trace", "-"}, "not zstd", "-: not compressed with zstd"},
		{[]string{"trace", "-"}, zstdText(t, `{"t":1,"body":"a"}`+"\n"+`{"t":2,"b64":"%"}`), "-: line 2: illegal base64"},
	}
	for _, test := range bad {
		got := runCorona(t.Context(), test.stdin, test.args...)
		if got.code != exitUsage || got.out != "" || !strings.Contains(got.errs, test.reason) || strings.Count(got.errs, "\n") != 1 {
			t.Errorf("%v: exit %d, %q %q; want %q", test.args, got.code, got.out, got.errs, test.reason)
		}
	}
}

// traceText returns a zstd-compressed history, a capture a minute.
func traceText(t *testing.T, bodies ...string) string {
	t.Helper()
	var b strings.Builder
	for n, body := range bodies {
		record := map[string]any{"t": 1_600_000_000 + 60*n, "body": body}
		if n%2 == 1 {
			record = map[string]any{"t": 1_600_000_000 + 60*n, "b64": base64.StdEncoding.EncodeToString([]byte(body))}
		}
		if err := printJSONLine(&b, record); err != nil {
			t.Fatal(err)
		}
	}
	return zstdText(t, b.String())
}

func zstdText(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func TestTraceCommand(t *testing.T) {
	trace := textFile(t, "trace.jsonl.zst", traceText(t, feedText(2, 1), feedText(3, 2, 1), "", feedText(2, 3, 1), feedText(4, 3, 2)))
	got := runCorona(t.Context(), "", "trace", "--json", trace)
	var r traceResult
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != exitDone {
		t.Fatalf("exit %d, %v: %s%s", got.code, err, got.out, got.errs)
	}
	first, last := r.Verdicts[1][5], r.Verdicts[4][5]
	want := [][6]int64{{1_600_000_000}, {1_600_000_060, 1, 1, 0, 0, first}, {1_600_000_120}, {1_600_000_180}, {1_600_000_240, 1, 1, 0, 0, last}}
	if fmt.Sprint(r.Verdicts) != fmt.Sprint(want) || first == 0 || last == 0 {
		t.Errorf("verdicts %v\nwant %v", r.Verdicts, want)
	}
	r.Verdicts, r.CoreBytes = nil, 0
	totals := traceResult{Captures: 5, Germane: 2, Noise: 2, Failed: 1, Added: 2,
		DocumentBytes: len(feedText(3, 2, 1)) + len(feedText(4, 3, 2)), DeltaBytes: int(first + last)}
	if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", totals) {
		t.Errorf("%+v\nwant %+v", r, totals)
	}
}

func TestTraceCommandForPeople(t *testing.T) {
	stdin := traceText(t, feedText(1), feedText(2, 1))
	got := runCorona(t.Context(), stdin, "trace", "-", "--updates")
	for _, want := range []string{"2020-09-13 12:27:40Z", "+ Story 2", "+entry: id-2", "2: 1 germane, 1 noise, 0 failed", "patch errors"} {
		if got.code != exitDone || !strings.Contains(got.out, want) {
			t.Errorf("exit %d, %q is missing in\n%s%s", got.code, want, got.out, got.errs)
		}
	}
}
