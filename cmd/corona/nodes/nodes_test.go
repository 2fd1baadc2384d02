package nodes

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// TestDrain: the command asks for the drain, says what is left whenever that changes and
// ends when nothing is; what the node refuses it says, with exit code 3.
func TestDrain(t *testing.T) {
	var asked []string
	answers := []string{
		`{"nodes":[{"name":"n3","state":"draining","replicas":2}]}`,
		`{"nodes":[{"name":"n3","state":"draining","replicas":0}]}`,
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		switch {
		case r.Method == http.MethodPost && strings.Contains(r.URL.Path, "n3"):
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPost:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"status":409,"title":"Conflict","detail":"refused: without n2 range 5 would have 2 nodes, it needs 3"}`)
		default:
			io.WriteString(w, answers[0])
			answers = answers[1:]
		}
	}))
	defer node.Close()
	run := func(args ...string) (string, error) {
		var out strings.Builder
		cmd := NewCommand()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(&out)
		cmd.SetArgs(append(args, "--server", node.URL))
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := run("drain", "n3")
	if err != nil || out != "n3: 2 replicas left\nn3: 0 replicas left\n" {
		t.Errorf("drain: %q, %v", out, err)
	}
	if want := "POST /v1/nodes/n3:drain,GET /v1/nodes,GET /v1/nodes"; strings.Join(asked, ",") != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
	if _, err := run("drain", "n2"); err == nil || cli.ExitCode(err) != cli.ExitUnreachable || !strings.Contains(err.Error(), "range 5 would have 2 nodes") {
		t.Errorf("a drain that is refused: %v", err)
	}
}
