package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-91e7e7c1/corona/internal/need"
)

// asProgram is the variable that makes the test binary the program itself.
const asProgram = "TEST_AS_CORONA"

// nodeProcess is a node in a process of its own.
type nodeProcess struct {
	*exec.Cmd
	url  string
	logs bytes.Buffer // complete when the process has ended
}

// startProcess runs "corona serve" in a process, behind the words of before, and
// returns when the node has announced itself.
func startProcess(t *testing.T, before ...string) *nodeProcess {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(before, program, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
	node := &nodeProcess{Cmd: exec.CommandContext(t.Context(), args[0], args[1:]...)}
	node.Env = append(os.Environ(), asProgram+"=1")
	node.Stderr = &node.logs
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no line of the node: %v, %v", err, node.Wait())
	}
	node.url = regexp.MustCompile(`http://[^/]+`).FindString(line)
	return node
}

func (n *nodeProcess) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := n.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// TestServeSignals: each signal that a shell, a service manager or a terminal sends
// to end a node ends it in order, even when a hangup comes with it.
func TestServeSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes take no signals on Windows")
	}
	// A process begins with SIGHUP ignored if this one ignores it, as under nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	for name, signals := range map[string][]os.Signal{
		"SIGTERM":            {syscall.SIGTERM},
		"SIGINT":             {syscall.SIGINT},
		"SIGHUP":             {syscall.SIGHUP},
		"SIGHUP twice":       {syscall.SIGHUP, syscall.SIGHUP},
		"SIGTERM and SIGHUP": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := startProcess(t)
			for _, s := range signals {
				node.signal(t, s)
			}
			if err := node.Wait(); err != nil || !strings.Contains(node.logs.String(), "stopping") {
				t.Errorf("ended with %v, log\n%s\nwant exit code 0 and a word of stopping", err, &node.logs)
			}
		})
	}
}

// TestServeUnderNohup: a hangup that the program was started to ignore stays ignored.
func TestServeUnderNohup(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		need.Missing(t, "no sh(1) to start a process that ignores SIGHUP: %v", err)
	}
	node := startProcess(t, shell, "-c", `trap "" HUP; exec "$0" "$@"`)
	node.signal(t, syscall.SIGHUP)
	if answer, err := http.Get(node.url + "/healthz"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("after SIGHUP: %v", err)
	} else {
		answer.Body.Close()
	}
	node.signal(t, syscall.SIGTERM)
	if err := node.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
