package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func TestServeStoppedWhileStartingIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	data := filepath.Join(t.TempDir(), "data")
	for range 2 { // in a new directory, and in one that a stop left half made
		got := runCorona(ctx, "", "serve", "--data", data, "--listen", "127.0.0.1:0")
		if got.Code != cli.ExitDone || got.Out != "" {
			t.Errorf("exit code %d, printed %q, said %q; want %d and no word of a node", got.Code, got.Out, got.Errs, cli.ExitDone)
		}
	}
}

// TestHostGap: 0 is a gap of its own, and leaving the flag out another answer.
func TestHostGap(t *testing.T) {
	tests := []struct {
		args []string
		want time.Duration
		ok   bool
	}{
		{nil, 0, true},
		{[]string{"--host-gap", "0"}, corona.NoHostGap, true},
		{[]string{"--host-gap", "0s"}, corona.NoHostGap, true},
		{[]string{"--host-gap", "2s"}, 2 * time.Second, true},
		{[]string{"--host-gap", "-1ns"}, 0, false},
		{[]string{"--host-gap", "soon"}, 0, false},
	}
	for _, test := range tests {
		var options serveOptions
		command := &cobra.Command{Use: "serve"}
		options.bind(command)
		err := command.ParseFlags(test.args)
		if (err == nil) != test.ok || options.node.HostGap != test.want {
			t.Errorf("%v: gap %d, %v; want %d, accepted %v", test.args, options.node.HostGap, err, test.want, test.ok)
		}
	}
}

// What is no data directory, or has another number of ranges, is wrong usage: one line,
// and exit code 2.
func TestServeRefusesDirectories(t *testing.T) {
	foreign, file, data := t.TempDir(), filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "data")
	for _, path := range []string{filepath.Join(foreign, "notes.txt"), file} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node, err := corona.Open(t.Context(), corona.Config{Data: data, Ranges: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`it holds "notes.txt" and no corona.json`: {"--data", foreign},
		"it is a file": {"--data", file},
		"was made with 2, which cannot be changed to 16": {"--data", data, "--ranges", "16"},
		"want a whole number above 0":                    {"--data", data, "--ranges", "0"},
	} {
		got := runCorona(t.Context(), "", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		if got.Code != cli.ExitUsage || strings.Count(got.Errs, "\ncorona: ") > 0 || !strings.Contains(got.Errs, want) {
			t.Errorf("%v: exit code %d, said %q, want %q", args, got.Code, got.Errs, want)
		}
	}
}

// TestServePlan: the settings of the optimiser reach the node.
func TestServePlan(t *testing.T) {
	var options serveOptions
	command := &cobra.Command{Use: "serve"}
	options.bind(command)
	if node := options.node; node.Policy != honeycomb.Lite || node.Cost != honeycomb.Polls || node.Ladder != honeycomb.Any() || node.Budget != 0 || node.Target != 0 || node.Maintenance != 10*time.Minute {
		t.Errorf("without flags %+v", node)
	}
	args := "--policy fast --target 5m --cost bytes --ladder geometric:2 --budget 1e6 --maintenance 1m"
	if err := command.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	if node := options.node; node.Policy != honeycomb.Fast || node.Target != 5*time.Minute || node.Cost != honeycomb.Bytes || node.Ladder != honeycomb.Geometric(2) || node.Budget != 1e6 || node.Maintenance != time.Minute {
		t.Errorf("%s: %+v", args, node)
	}
}
