package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// TestColours: what colours paint is clean, and nothing is painted without.
func TestColours(t *testing.T) {
	update := api.Update{
		Entries: deltas.Entries{
			Added:   []deltas.Entry{{Title: "Announcing \x1b[2J\u202e1.99"}},
			Changed: []deltas.Entry{{Title: "Second"}},
			Removed: []deltas.Entry{{ID: "tag:3"}},
		},
		Diff: "@@ -1,2 +1,2 @@\n-title First\n+title Second\x07\n",
	}
	var plain, painted bytes.Buffer
	for buffer, colour := range map[*bytes.Buffer]bool{&plain: false, &painted: true} {
		printer := NewUpdatePrinter(buffer)
		if printer.colour {
			t.Error("colours on what is no terminal")
		}
		printer.colour = colour
		if err := printer.Update(&update); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("colours without being asked for: %q", plain.String())
	}
	for _, want := range []string{
		"\x1b[32m  + Announcing \\x1b[2J\\u202e1.99\x1b[0m\n", "\x1b[33m  ~ Second", "\x1b[31m  - tag:3\x1b[0m",
		"    \x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n", "    \x1b[31m-title First\x1b[0m\n", "    \x1b[32m+title Second\\a\x1b[0m\n",
	} {
		if !strings.Contains(painted.String(), want) {
			t.Errorf("no %q in %q", want, painted.String())
		}
	}
}
