package load

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

// A node that wants a token is shown one.
func TestProfileToken(t *testing.T) {
	node := clitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer 0123456789abcdef" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for want, args := range map[int][]string{
		cli.ExitUnreachable: {node},
		cli.ExitUsage:       {node, "--token", "0123456789abcdef"}, // it is answered, with no profile
	} {
		command := NewProfile()
		command.SetArgs(args)
		command.SilenceErrors, command.SilenceUsage = true, true
		if err := command.ExecuteContext(t.Context()); err == nil || cli.ExitCode(err) != want {
			t.Errorf("%v: %v, want exit code %d", args, err, want)
		}
	}
}

// What cannot be shown is refused in a line, with its exit code.
func TestProfileRefused(t *testing.T) {
	folder := t.TempDir()
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder}, cli.ExitUsage, "profiles: [cpu]"},
		{[]string{folder, "--kind", "block"}, cli.ExitUsage, `--kind "block"`},
		{[]string{folder, "--seconds", "0"}, cli.ExitUsage, "--seconds 0"},
		{[]string{"http://127.0.0.1:1"}, cli.ExitUnreachable, "connection refused"},
	}
	for _, test := range tests {
		command := NewProfile()
		command.SetArgs(test.args)
		command.SilenceErrors, command.SilenceUsage = true, true
		err := command.ExecuteContext(t.Context())
		if err == nil || cli.ExitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want exit code %d and %q", test.args, err, test.code, test.want)
		}
	}
}
