package backups

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
	"github.com/seed-91e7e7c1/corona/server"
)

func run(ctx context.Context, stdin string, args ...string) clitest.Outcome {
	return clitest.Run(ctx, clitest.Root(NewBackup(), NewRestore()), stdin, args...)
}

// serveNode is a node of a number of ranges, and its API.
func serveNode(t *testing.T, ranges int) (url string, node *corona.Node) {
	t.Helper()
	node, err := corona.Open(t.Context(), corona.Config{Data: t.TempDir(), Ranges: ranges, DiskReserve: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	handler, err := server.New(server.Config{}, node, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL, node
}

// fill makes subscriptions, of hosts that do not exist.
func fill(t *testing.T, node *corona.Node, n int) {
	t.Helper()
	wishes := make([]api.SubscribeRequest, n)
	for i := range wishes {
		wishes[i] = api.SubscribeRequest{URL: fmt.Sprintf("https://feed-%d.invalid/", i/2),
			Sink: api.Sink{Type: api.SinkWebhook, URL: "https://hook.invalid/", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
	}
	for _, outcome := range node.Subscribe(t.Context(), wishes) {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
}

// listed is what a node says of all its subscriptions.
func listed(t *testing.T, node *corona.Node) string {
	t.Helper()
	page, err := node.Subscriptions(t.Context(), api.SubscriptionQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBackupAndRestore takes a node's subscriptions to another one by a file, and refuses
// all that is not a whole backup, or not a fresh cluster.
func TestBackupAndRestore(t *testing.T) {
	from, node := serveNode(t, 3)
	fill(t, node, 40)
	want := listed(t, node)
	dir := t.TempDir()
	path := filepath.Join(dir, "corona.backup")
	got := run(t.Context(), "", "backup", path, "--server", from, "--json")
	var said result
	if err := json.Unmarshal([]byte(got.Out), &said); err != nil || got.Code != cli.ExitDone {
		t.Fatalf("backup: %+v, %v", got, err)
	}
	if said.Channels != 20 || said.Subscriptions != 40 || said.Ranges != 3 || said.File != path {
		t.Errorf("backup says %+v", said)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != said.FileBytes {
		t.Errorf("file %v, %v; said %d bytes", info, err, said.FileBytes)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	to, fresh := serveNode(t, 5)
	write := func(name string, content []byte) string {
		bad := filepath.Join(dir, name)
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return bad
	}
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	newer := bytes.Clone(content)
	copy(newer, "corona\x00C")
	for _, test := range []struct {
		file, want string
	}{
		{write("cut", content[:len(content)-5]), "cut: backup cannot be used: at byte"},
		{write("flipped", flipped), "checksum of frame"},
		{write("newer", newer), `begins with "corona\x00C"`},
		{write("empty", nil), "is cut at its begin"},
		{filepath.Join(dir, "none"), "no such file"},
	} {
		got := run(t.Context(), "", "restore", test.file, "--server", to)
		if got.Code != cli.ExitUsage || !strings.Contains(got.Errs, test.want) || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("restore of %s: %+v, want %q", test.file, got, test.want)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if got := run(interrupted, "", "restore", path, "--server", to); got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, "nothing was sent") {
		t.Errorf("an interrupted check: %+v", got)
	}
	if got := listed(t, fresh); strings.Contains(got, "sub_") {
		t.Errorf("after refusals there is %s", got)
	}

	if got := run(t.Context(), string(content), "restore", "-", "--server", to); got.Code != cli.ExitDone || !strings.Contains(got.Out, "20 channels, 40 subscriptions") {
		t.Fatalf("restore: %+v", got)
	}
	if got := listed(t, fresh); got != want {
		t.Errorf("restored\n%s, want\n%s", got, want)
	}
	got = run(t.Context(), "", "restore", path, "--server", to)
	if got.Code != cli.ExitNo || !strings.Contains(got.Errs, "not fresh") {
		t.Errorf("restore again: %+v", got)
	}
	if got := run(t.Context(), "", "backup", "-", "--server", to); got.Code != cli.ExitDone || !strings.HasPrefix(got.Out, "corona\x00B") || !strings.Contains(got.Errs, "40 subscriptions") {
		t.Errorf("backup to standard output: code %d, %s", got.Code, got.Errs)
	}
}

// TestRestoreRefused: what to do is said where that helps.
func TestRestoreRefused(t *testing.T) {
	for _, test := range []struct {
		err   error
		code  int
		again bool
	}{
		{api.NewProblem(http.StatusConflict, "not fresh"), cli.ExitNo, false},
		{api.NewProblem(http.StatusUnauthorized, "no token"), cli.ExitUnreachable, false},
		{api.NewProblem(http.StatusBadRequest, "checksum"), cli.ExitUnreachable, true},
		{api.NewProblem(http.StatusServiceUnavailable, "no leader"), cli.ExitUnreachable, true},
		{context.Canceled, cli.ExitUnreachable, true},
	} {
		got := refusal(test.err)
		if again := strings.Contains(got.Error(), "run it again"); cli.ExitCode(got) != test.code || again != test.again {
			t.Errorf("%v: exit code %d, %q", test.err, cli.ExitCode(got), got)
		}
	}
}

// TestBackupBrokenOff: a file that was there stays when the node breaks off, refuses, or
// the command is interrupted.
func TestBackupBrokenOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "corona.backup")
	if err := os.WriteFile(path, []byte("of before"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := clitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "corona\x00B") }))
	busy := clitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		clitest.Respond(w, http.StatusServiceUnavailable, api.NewProblem(http.StatusServiceUnavailable, "too many"))
	}))
	ctx, interrupt := context.WithCancel(t.Context())
	slow := clitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "corona\x00B")
		http.NewResponseController(w).Flush()
		interrupt()
		<-r.Context().Done()
	}))
	for _, test := range []struct {
		ctx          context.Context
		server, want string
	}{
		{t.Context(), cut, "the node broke off: backup cannot be used: at byte 8: is cut in frame 0"},
		{t.Context(), busy, "too many"},
		{ctx, slow, "interrupted"},
	} {
		got := run(test.ctx, "", "backup", path, "--server", test.server)
		if got.Code != cli.ExitUnreachable || !strings.Contains(got.Errs, test.want) {
			t.Errorf("%+v, want %q", got, test.want)
		}
	}
	files, err := os.ReadDir(dir)
	content, readErr := os.ReadFile(path)
	if err != nil || readErr != nil || len(files) != 1 || string(content) != "of before" {
		t.Errorf("%v, %v, %v: %q", files, err, readErr, content)
	}
}
