package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// heldOpen is a terminal on which the user types Ctrl-C alone.
type heldOpen struct {
	ctrlC func()
	end   <-chan struct{}
}

func (h heldOpen) Read([]byte) (int, error) {
	h.ctrlC()
	<-h.end
	return 0, io.EOF
}

// TestInterruptedInput: a signal ends a command that waits for standard input.
func TestInterruptedInput(t *testing.T) {
	old := clitest.FeedFile(t, "old.xml", 1)
	tests := []struct {
		args string
		code int
		errs string
	}{
		{"core -", cli.ExitNo, "corona: interrupted\n"},
		{"diff " + old + " -", cli.ExitNo, "corona: interrupted\n"},
		{"patch " + old + " -", cli.ExitNo, "corona: interrupted\n"},
		{"trace -", cli.ExitNo, "corona: interrupted\n"},
		{"solve --in -", cli.ExitNo, "corona: interrupted\n"},
		{"import - --server " + clitest.Serve(t, clitest.FakeNode()), cli.ExitUnreachable, "corona: interrupted; what is subscribed stays, import again for the rest\n"},
	}
	for _, test := range tests {
		ctx, cancel := context.WithCancel(t.Context())
		got := runBetween(ctx, heldOpen{cancel, t.Context().Done()}, io.Discard, strings.Fields(test.args)...)
		if got.Code != test.code || got.Errs != test.errs {
			t.Errorf("%s: exit %d, %q; want %d, %q", test.args, got.Code, got.Errs, test.code, test.errs)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullOutput: what could not be printed is no success.
func TestFullOutput(t *testing.T) {
	server := " --server " + clitest.Serve(t, clitest.FakeNode())
	trace := clitest.TextFile(t, "trace.jsonl.zst", clitest.TraceText(t, clitest.FeedText(1), clitest.FeedText(2, 1)))
	old, next := clitest.FeedFile(t, "old.xml", 1), clitest.FeedFile(t, "new.xml", 2, 1)
	for _, command := range []string{
		"core " + old, "diff " + old + " " + next, "diff --json " + old + " " + next, "trace " + trace, "trace --updates " + trace, "trace --json " + trace,
		"channels" + server, "channels " + clitest.FeedURL + server, "subscriptions" + server, "explain " + clitest.FeedURL + server, "status" + server, "export" + server,
		"updates " + clitest.FeedURL + server, "updates --after 42 " + clitest.FeedURL + server, "unsubscribe sub_aaaa" + server,
		"subscribe " + clitest.FeedURL + server, "subscribe --json " + clitest.FeedURL + server, "version",
	} {
		got := runBetween(t.Context(), strings.NewReader(""), fullDisk{}, strings.Fields(command)...)
		if got.Code != cli.ExitUsage || !strings.Contains(got.Errs, "no space left") || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", command, got.Code, got.Errs)
		}
	}
}
