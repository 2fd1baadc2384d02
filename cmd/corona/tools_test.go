package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

func TestDiffCommand(t *testing.T) {
	old := clitest.FeedFile(t, "old.xml", 3, 2, 1)
	tests := []struct {
		name string
		next string
		code int
		out  string
	}{
		{"the same in another order", clitest.FeedText(1, 2, 3), cli.ExitDone, ""},
		{"one more, one withdrawn", clitest.FeedText(4, 3, 1), cli.ExitNo, "" +
			"  + Story 4\n  - Story 2\n" +
			"    @@ -6,3 +5,0 @@\n    -entry: id-2\n    -title: Story 2\n    -  Text 2.\n" +
			"    @@ -11,0 +9,3 @@\n    +entry: id-4\n    +title: Story 4\n    +  Text 4.\n"},
	}
	for _, test := range tests {
		got := runCorona(t.Context(), test.next, "diff", old, "-")
		if got.Code != test.code || !strings.HasPrefix(got.Out, test.out) || test.out == "" && got.Out != "" {
			t.Errorf("%s: exit %d, printed\n%s%s\nwant exit %d,\n%s", test.name, got.Code, got.Out, got.Errs, test.code, test.out)
		}
	}
}

func TestDiffCommandJSON(t *testing.T) {
	old, next := clitest.FeedFile(t, "old.xml", 3, 2, 1), clitest.FeedFile(t, "new.xml", 4, 3, 2)
	got := runCorona(t.Context(), "", "diff", "--json", old, next)
	var result diffResult
	if err := json.Unmarshal([]byte(got.Out), &result); err != nil || got.Code != cli.ExitNo {
		t.Fatalf("exit %d, %v: %s%s", got.Code, err, got.Out, got.Errs)
	}
	if !result.Germane || result.Kind != "feed" || result.Entries != (entryCounts{Added: 1}) || len(result.Ops) != 2 ||
		result.OldBytes != len(clitest.FeedText(3, 2, 1)) || result.DeltaBytes == 0 || result.CoreBytes == 0 {
		t.Errorf("%+v", result)
	}
}

// What patch makes of OLD is what core prints of NEW.
func TestPatchCommand(t *testing.T) {
	old, next := clitest.FeedFile(t, "old.xml", 2, 1), clitest.FeedFile(t, "new.xml", 3, 2, 1)
	delta := filepath.Join(t.TempDir(), "delta")
	if got := runCorona(t.Context(), "", "diff", old, next, "--out", delta); got.Code != cli.ExitNo {
		t.Fatalf("diff: exit %d: %s", got.Code, got.Errs)
	}
	patched, core := runCorona(t.Context(), "", "patch", old, delta), runCorona(t.Context(), "", "core", next)
	if patched.Code != cli.ExitDone || patched.Out != core.Out || !strings.Contains(core.Out, "title: Story 3\n") {
		t.Errorf("patch: exit %d, %s\n%s\nwant\n%s", patched.Code, patched.Errs, patched.Out, core.Out)
	}
	wrong := runCorona(t.Context(), "", "patch", next, delta)
	if wrong.Code != cli.ExitUsage || !strings.Contains(wrong.Errs, "another base") || strings.Count(wrong.Errs, "\n") != 1 {
		t.Errorf("patch of another base: exit %d, %q", wrong.Code, wrong.Errs)
	}
}

// TestCoreAndPatchJSON: both say the same of the same core content, but for what it was
// made from.
func TestCoreAndPatchJSON(t *testing.T) {
	old, next := clitest.FeedFile(t, "old.xml", 2, 1), clitest.FeedFile(t, "new.xml", 3, 2, 1)
	delta := filepath.Join(t.TempDir(), "delta")
	runCorona(t.Context(), "", "diff", old, next, "--out", delta)
	core, patched := runCorona(t.Context(), "", "core", next, "--json"), runCorona(t.Context(), "", "patch", old, delta, "--json")
	clitest.CheckGolden(t, "core.json", core.Out)
	clitest.CheckGolden(t, "patch.json", patched.Out)
	var ofCore, ofPatch coreResult
	if err := errors.Join(json.Unmarshal([]byte(core.Out), &ofCore), json.Unmarshal([]byte(patched.Out), &ofPatch)); err != nil {
		t.Fatal(err)
	}
	if text := runCorona(t.Context(), "", "core", next).Out; ofCore.Text != text || ofCore.CoreBytes != len(text) || ofCore.DocumentBytes != len(clitest.FeedText(3, 2, 1)) {
		t.Errorf("core: %+v, want the text %q", ofCore, text)
	}
	if info, err := os.Stat(delta); err != nil || ofPatch.DeltaBytes != int(info.Size()) {
		t.Errorf("patch: %+v, of a delta %v, %v", ofPatch, info, err)
	}
	ofCore.DocumentBytes, ofPatch.DeltaBytes = 0, 0
	if !reflect.DeepEqual(ofCore, ofPatch) {
		t.Errorf("core says %+v, patch %+v", ofCore, ofPatch)
	}
	page := clitest.TextFile(t, "page.html", `<title>T</title><link rel="alternate" type="application/rss+xml" href="/f.xml"><p>Hello`)
	clitest.CheckGolden(t, "core-page.json", runCorona(t.Context(), "", "core", page, "--url", "https://example.com/", "--json").Out)
	wrong := runCorona(t.Context(), "", "patch", next, delta, "--json")
	if wrong.Code != cli.ExitUsage || wrong.Out != "" {
		t.Errorf("patch of another base: exit %d, printed %q", wrong.Code, wrong.Out)
	}
}

func TestCoreCommand(t *testing.T) {
	page := clitest.TextFile(t, "page.html", `<title>T</title><p>Hello <a href="/x">there</a><script>no</script>`)
	const want = "corona-core 1 html\ntitle: T\n\nHello there ⟨/x⟩\n"
	if got := runCorona(t.Context(), "", "core", page, "--url", "https://example.com/"); got.Code != cli.ExitDone || got.Out != want {
		t.Errorf("exit %d, %q%s; want %q", got.Code, got.Out, got.Errs, want)
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
		{[]string{"trace", "-"}, clitest.ZstdText(t, `{"t":1,"body":"a"}`+"\n"+`{"t":2,"b64":"%"}`), "-: line 2: illegal base64"},
	}
	for _, test := range bad {
		got := runCorona(t.Context(), test.stdin, test.args...)
		if got.Code != cli.ExitUsage || got.Out != "" || !strings.Contains(got.Errs, test.reason) || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%v: exit %d, %q %q; want %q", test.args, got.Code, got.Out, got.Errs, test.reason)
		}
	}
}
