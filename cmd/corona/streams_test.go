package main

import (
	"context"
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
