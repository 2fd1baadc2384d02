package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func TestServeStoppedWhileStartingIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	data := filepath.Join(t.TempDir(), "data")
	for range 2 { // in a new directory, and in one that a stop left half made
		got := runCorona(ctx, "", "serve", "--data", data, "--listen", "127.0.0.1:0")
		if got.code != exitDone || got.out != "" {
			t.Errorf("exit code %d, printed %q, said %q; want %d and no word of a node", got.code, got.out, got.errs, exitDone)
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
