package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const apiToken = "0123456789abcdef"

// Row 39: a node that other machines reach wants tokens.
func TestRow39ListenNeedsTokens(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string // of the error; empty: accepted
	}{
		{"loopback", nil, ""},
		{"open", []string{"--listen", "0.0.0.0:8410"}, "not a loopback address"},
		{"open with a token", []string{"--listen", "0.0.0.0:8410", "--api-token", apiToken}, ""},
		{"open and insecure", []string{"--listen", ":8410", "--insecure-api"}, ""},
		{"two tokens", []string{"--listen", "[::]:8410", "--api-token", apiToken + "," + apiToken + "2"}, ""},
		{"two flags", []string{"--listen", "[::]:8410", "--api-token", apiToken, "--api-token", apiToken + "2"}, ""},
		{"short token", []string{"--api-token", "012345678901234"}, "--api-token: token 1 of 1: 15 characters: want 16"},
		{"empty token", []string{"--api-token", ""}, "--api-token: no token"},
		{"one short token", []string{"--api-token", apiToken + ",x"}, "token 2 of 2: 1 characters"},
		{"bad token", []string{"--api-token", "0123456789 \"quoted\""}, "token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var options serveOptions
			command := &cobra.Command{Use: "serve"}
			options.bind(command)
			if err := command.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			_, err := options.check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "0123") {
				t.Errorf("shows the token: %v", err)
			}
		})
	}
}

// A refused setting ends the program before anything is opened, and shows no token.
func TestRow39ServeRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ env, file, want string }{
		{"CORONA_LISTEN=0.0.0.0:0", "", "not a loopback address"},
		{"CORONA_API_TOKEN=tooshort", "", "8 characters"},
		{"CORONA_API_TOKEN_FILE=" + empty, "", "no token"},
		{"", "api-token: [0123456789abcdef, tooshort]", "token 2 of 2: 8 characters"},
		{"", "api-token-file: " + empty, "no token"},
	}
	for _, test := range tests {
		t.Run(test.env+test.file, func(t *testing.T) {
			args := []string{"serve", "--data", filepath.Join(t.TempDir(), "data")}
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			if test.file != "" {
				args = append(args, "--config", writeConfig(t, test.file))
			}
			got := runCorona(t.Context(), "", args...)
			if got.Code != cli.ExitUsage || !strings.Contains(got.Errs, test.want) || strings.Contains(got.Errs, "tooshort") {
				t.Errorf("exit code %d, said %q, want %q", got.Code, got.Errs, test.want)
			}
		})
	}
}

// Row 39: commands get in with one of the node's tokens, and are told how
// without.
func TestRow39CommandsWithTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(apiToken+"\n"+apiToken+"-next\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CORONA_API_TOKEN_FILE", file)
	node := serveNode(t)
	tests := []struct {
		name, env, value string
		args             []string
		code             int
		says             string
	}{
		{"no token", "", "", nil, cli.ExitUnreachable, "CORONA_TOKEN_FILE"},
		{"wrong token", "CORONA_TOKEN", "fedcba9876543210", nil, cli.ExitUnreachable, "no token of this node"},
		{"flag", "", "", []string{"--token", apiToken}, cli.ExitDone, ""},
		{"environment", "CORONA_TOKEN", apiToken + "-next", nil, cli.ExitDone, ""},
		{"file", "CORONA_TOKEN_FILE", "", nil, cli.ExitDone, ""},
		{"what cannot be sent", "CORONA_TOKEN", "a b", nil, cli.ExitUsage, "token: want"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.env == "CORONA_TOKEN_FILE" {
				test.value = filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(test.value, []byte(apiToken+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.env != "" {
				t.Setenv(test.env, test.value)
			}
			for _, command := range [][]string{{"status"}, {"subscriptions"}, {"channels"}, {"export"}} {
				got := runCorona(t.Context(), "", append(append(command, "--server", node), test.args...)...)
				if got.Code != test.code || !strings.Contains(got.Errs, test.says) || strings.Contains(got.Errs+got.Out, apiToken) {
					t.Errorf("%s: exit code %d, printed %q, said %q", command, got.Code, got.Out, got.Errs)
				}
			}
		})
	}
}

// serveNode runs a node with the settings of the environment on a loopback
// address until the test ends, and returns its URL.
func serveNode(t *testing.T) string {
	t.Helper()
	var options serveOptions
	root := newRootCommand()
	command := &cobra.Command{Use: "probe", RunE: func(*cobra.Command, []string) error { return nil }}
	options.bind(command)
	root.AddCommand(command)
	root.SetArgs([]string{"probe", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--ranges", "1"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	said, says := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, options, says, io.Discard)
		says.CloseWithError(errors.Join(err, io.EOF))
		done <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line := make([]byte, 1000)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(line[:n]), "http://")
	address, _, _ := strings.Cut(rest, "/")
	if _, _, err := net.SplitHostPort(address); err != nil || !strings.Contains(rest, "CORONA_TOKEN_FILE") {
		t.Fatalf("serve said %q", line[:n])
	}
	return "http://" + address
}

// Row 39: a running node's health is for everybody, all else for those with a
// token.
func TestRow39HealthIsOpen(t *testing.T) {
	t.Setenv("CORONA_API_TOKEN", apiToken)
	node := serveNode(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 200, "/metrics": 401, "/debug/pprof/": 401, "/v1/updates": 401} {
		response, err := http.Get(node + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, response.StatusCode, want)
		}
	}
}
