package cli

import (
	"errors"
	"testing"
)

func TestExitCode(t *testing.T) {
	no := Exit(ExitNo, nil)
	tests := []struct {
		err  error
		want int
	}{
		{nil, ExitDone},
		{errors.New("x"), ExitUsage},
		{no, ExitNo},
		{errors.Join(errors.New("x"), no), ExitNo},
		{NodeError(errors.New("x")), ExitUnreachable},
		{NodeError(nil), ExitDone},
	}
	for _, test := range tests {
		if got := ExitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
	if no.Error() != "" {
		t.Errorf("an exit code alone says %q", no)
	}
}
