package nodes

import (
	"fmt"
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
	answers = []string{
		`{"nodes":[{"name":"n3","state":"alive","replicas":3}]}`, // of a node that has not heard of it
		`{"nodes":[{"name":"n3","state":"draining","replicas":2}]}`,
		`{"nodes":[{"name":"n3","state":"dead","replicas":2}]}`,
		`{"nodes":[{"name":"n3","state":"alive","replicas":2}]}`,
	}
	if _, err := run("drain", "n3"); err == nil || cli.ExitCode(err) != cli.ExitUnreachable || !strings.Contains(err.Error(), "the drain of n3 was called off, with 2 replicas left") {
		t.Errorf("a drain that is called off: %v", err)
	}
	answers = []string{`{"nodes":[{"name":"n3","state":"alive","replicas":2}]}`}
	if out, err := run("undrain", "n3"); err != nil || out != "n3: 2 replicas\n" {
		t.Errorf("undrain: %q, %v", out, err)
	}
	answers = []string{
		`{"nodes":[{"name":"n3","state":"dead","replicas":2}]}`, // as above
		`{"nodes":[{"name":"n3","state":"removed","replicas":1}]}`,
		`{"nodes":[{"name":"n3","state":"alive","replicas":2}]}`, // another one of that name
	}
	if out, err := run("remove", "n3"); err != nil || out != "n3: 2 replicas left\nn3: 1 replica left\nn3: 0 replicas left\n" {
		t.Errorf("remove: %q, %v", out, err)
	}
	if _, err := run("drain", "n2"); err == nil || cli.ExitCode(err) != cli.ExitUnreachable || !strings.Contains(err.Error(), "range 5 would have 2 nodes") {
		t.Errorf("a drain that is refused: %v", err)
	}
}

// TestRecoverAll: each range is asked for; why one is left as it is, the command says, and a
// failure at one keeps it from no other.
func TestRecoverAll(t *testing.T) {
	refusals := map[string]string{"0": "a majority, nothing is lost", "1": "no whole replica of range 1 answers"}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/ranges/"), ":recover")
		switch why, refused := refusals[id]; {
		case r.Method == http.MethodGet && r.URL.Path != "/v1/nodes":
			w.WriteHeader(http.StatusServiceUnavailable) // a range has no leader
		case r.Method == http.MethodGet:
			io.WriteString(w, `{"nodes":[],"ranges":4}`)
		case refused:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"status":409,"title":"Conflict","detail":%q}`, why)
		case id == "2":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"status":503,"title":"Unavailable","detail":"no leader"}`)
		default:
			fmt.Fprintf(w, `{"range":%q,"survivors":[{"node":"n1","term":2,"index":7}],"lost":["n2"]}`, id)
		}
	}))
	defer node.Close()
	var out strings.Builder
	cmd := NewCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"recover", "--range", "all", "--yes", "--server", node.URL})
	err := cmd.ExecuteContext(t.Context())
	for _, want := range []string{"range 0: " + refusals["0"], "range 1: " + refusals["1"], "recovered range 3 from n1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	if cli.ExitCode(err) != cli.ExitUnreachable || !strings.Contains(err.Error(), "range 2") {
		t.Errorf("a range without a leader: %v", err)
	}
}

// TestSplit: the command asks for the splits, says how many ranges there are whenever that
// changes, and ends when they are as many as are wanted.
func TestSplit(t *testing.T) {
	var asked []string
	answers := []string{`{"nodes":[],"ranges":16}`, `{"nodes":[],"ranges":20}`}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	defer node.Close()
	var out strings.Builder
	cmd := NewCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"split", "20", "--server", node.URL})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "16 ranges of 20\n20 ranges of 20\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if asked[0] != "POST /v1/ranges:split?to=20" || len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}
	answers = []string{`{"nodes":[],"ranges":20}`, `{"nodes":[],"ranges":20,"ranges_wanted":64}`, `{"nodes":[],"ranges":21,"ranges_wanted":24}`}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"split", "64", "--server", node.URL})
	if err := cmd.ExecuteContext(t.Context()); err == nil || cli.ExitCode(err) != cli.ExitUnreachable || !strings.Contains(err.Error(), "64 ranges are wanted no longer: there are 21") {
		t.Errorf("a split that is called off: %v", err)
	}
}
