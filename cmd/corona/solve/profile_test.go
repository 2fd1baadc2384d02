package solve

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

func TestSolveProfiles(t *testing.T) {
	dir := t.TempDir()
	cpu, memory := filepath.Join(dir, "cpu"), filepath.Join(dir, "memory")
	got := runCorona(t.Context(), skewed(20_000), "solve", "--in", "-", "--nodes", "64", "--cpuprofile", cpu, "--memprofile", memory)
	if got.Code != cli.ExitDone {
		t.Fatalf("exit %d, %s", got.Code, got.Errs)
	}
	for path, kind := range map[string]string{cpu: "cpu", memory: "alloc_space"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, value := range parsed.SampleType {
			found = found || value.Type == kind
		}
		if !found {
			t.Errorf("%s: sample types %v, want %s", path, parsed.SampleType, kind)
		}
	}
}

// The web view shows the profile with a flame graph, to this machine alone, and
// ends with the command.
func TestSolveView(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address, errs := io.Pipe()
	done := make(chan int, 1)
	go func() {
		defer errs.Close()
		done <- cli.Run(ctx, solveViewed(errs))
	}()
	said := bufio.NewReader(address)
	line, err := said.ReadString('\n')
	go io.Copy(io.Discard, said) // what the view complains of must not hold it up
	_, url, found := strings.Cut(line, "at ")
	if err != nil || !found {
		t.Fatalf("%q, %v", line, err)
	}
	url, _, _ = strings.Cut(url, " ")
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		status, body := get(t, url, host)
		if status != want || want == http.StatusOK && !strings.Contains(body, "stackViewer") {
			t.Errorf("host %q: status %d, want %d: %.200s", host, status, want, body)
		}
	}
	cancel()
	if code := <-done; code != cli.ExitDone {
		t.Errorf("exit %d", code)
	}
}

// solveViewed is a solve that takes long enough for a profile to have samples.
func solveViewed(errs io.Writer) *cobra.Command {
	root := newRootCommand()
	root.SetIn(strings.NewReader(skewed(100_000)))
	root.SetOut(io.Discard)
	root.SetErr(errs)
	root.SetArgs([]string{"solve", "--in", "-", "--nodes", "64", "--repeat", "20", "--pprof", "localhost:0"})
	return root
}

func get(t *testing.T, url, host string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
