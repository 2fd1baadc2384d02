package clitest

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// FeedFile writes an RSS feed of the items numbered and returns its path.
func FeedFile(t *testing.T, name string, items ...int) string {
	t.Helper()
	return TextFile(t, name, FeedText(items...))
}

// FeedText returns an RSS feed of the items numbered.
func FeedText(items ...int) string {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>News</title>`)
	for _, n := range items {
		fmt.Fprintf(&b, `<item><guid>id-%d</guid><title>Story %d</title><description>Text %d.</description></item>`, n, n, n)
	}
	b.WriteString("</channel></rss>")
	return b.String()
}

// TextFile writes a file that the test removes at its end, and returns its path.
func TextFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TraceText returns a zstd-compressed history, a capture a minute.
func TraceText(t *testing.T, bodies ...string) string {
	t.Helper()
	var b strings.Builder
	for n, body := range bodies {
		record := map[string]any{"t": 1_600_000_000 + 60*n, "body": body}
		if n%2 == 1 {
			record = map[string]any{"t": 1_600_000_000 + 60*n, "b64": base64.StdEncoding.EncodeToString([]byte(body))}
		}
		if err := cli.PrintJSONLine(&b, record); err != nil {
			t.Fatal(err)
		}
	}
	return ZstdText(t, b.String())
}

// ZstdText returns text compressed with zstd.
func ZstdText(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}
