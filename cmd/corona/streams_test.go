package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// heldOpen is a terminal where nobody types anything but Ctrl-C.
type heldOpen struct {
	ctrlC func()
	end   <-chan struct{}
}

func (h heldOpen) Read([]byte) (int, error) {
	h.ctrlC()
	<-h.end
	return 0, io.EOF
}

// TestInterruptedInput: a signal ends who waits for standard input.
func TestInterruptedInput(t *testing.T) {
	old := feedFile(t, "old.xml", 1)
	tests := []struct {
		args string
		code int
		errs string
	}{
		{"core -", exitNo, "corona: interrupted\n"},
		{"diff " + old + " -", exitNo, "corona: interrupted\n"},
		{"patch " + old + " -", exitNo, "corona: interrupted\n"},
		{"trace -", exitNo, "corona: interrupted\n"},
		{"solve --in -", exitNo, "corona: interrupted\n"},
		{"import - --server " + serveFake(t, fakeNode()), exitUnreachable, "corona: interrupted; what is subscribed stays, import again for the rest\n"},
	}
	for _, test := range tests {
		ctx, cancel := context.WithCancel(t.Context())
		got := runBetween(ctx, heldOpen{cancel, t.Context().Done()}, io.Discard, strings.Fields(test.args)...)
		if got.code != test.code || got.errs != test.errs {
			t.Errorf("%s: exit %d, %q; want %d, %q", test.args, got.code, got.errs, test.code, test.errs)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullOutput: what could not be printed is no success.
func TestFullOutput(t *testing.T) {
	server := " --server " + serveFake(t, fakeNode())
	trace := textFile(t, "trace.jsonl.zst", traceText(t, feedText(1), feedText(2, 1)))
	old, next := feedFile(t, "old.xml", 1), feedFile(t, "new.xml", 2, 1)
	for _, command := range []string{
		"core " + old, "diff " + old + " " + next, "diff --json " + old + " " + next, "trace " + trace, "trace --updates " + trace, "trace --json " + trace,
		"channels" + server, "channels " + feedURL + server, "subscriptions" + server, "explain " + feedURL + server, "status" + server, "export" + server,
		"updates " + feedURL + server, "updates --after 42 " + feedURL + server, "unsubscribe sub_aaaa" + server,
		"subscribe " + feedURL + server, "subscribe --json " + feedURL + server, "version",
	} {
		got := runBetween(t.Context(), strings.NewReader(""), fullDisk{}, strings.Fields(command)...)
		if got.code != exitUsage || !strings.Contains(got.errs, "no space left") || strings.Count(got.errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", command, got.code, got.errs)
		}
	}
}
