// Package clitest runs commands in tests: it captures what they print and how they end,
// compares that with golden files, and serves as a node with fixed answers.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// Outcome is what a run of the program left.
type Outcome struct {
	Code      int
	Out, Errs string
}

// Root returns a root command with these commands below it, as the program's has
// them.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: "corona", SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(commands...)
	return root
}

// Run runs a root command as main does.
func Run(ctx context.Context, root *cobra.Command, stdin string, args ...string) Outcome {
	var out bytes.Buffer
	got := RunBetween(ctx, root, strings.NewReader(stdin), &out, args...)
	got.Out = out.String()
	return got
}

// RunBetween is Run between an input and an output of the test's own.
func RunBetween(ctx context.Context, root *cobra.Command, in io.Reader, out io.Writer, args ...string) Outcome {
	var errs bytes.Buffer
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(&errs)
	root.SetArgs(args)
	return Outcome{Code: cli.Run(ctx, root), Errs: errs.String()}
}

// updateGolden rewrites the files of testdata/golden: go test ./cmd/corona/... -update-golden
var updateGolden = flag.Bool("update-golden", false, "write what the commands print to testdata/golden")

// CheckGolden compares text with testdata/golden/name.
func CheckGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("printed\n%s\nwant, as in %s,\n%s", text, path, want)
	}
}

// Serve returns the URL of a server that lives as long as the test.
func Serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// Respond answers with JSON.
func Respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}
