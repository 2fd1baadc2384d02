package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/need"
	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// seat is where a node of several listens, and what it is started with: an address of
// 127.0.0.0/8 of its own, so that its ports stay free while it is down.
type seat struct {
	name, host, data, certs string
}

func newSeat(t *testing.T, name, certs string) seat {
	t.Helper()
	if runtime.GOOS != "linux" {
		need.Missing(t, "only Linux has the whole of 127.0.0.0/8")
	}
	host := netip.AddrFrom4([4]byte{127, byte(192 + rand.IntN(60)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
	return seat{name, host.String(), filepath.Join(t.TempDir(), name), certs}
}

func (s seat) cluster() string { return s.host + ":8411" }
func (s seat) gossip() string  { return s.host + ":8412" }
func (s seat) url() string     { return "http://" + s.host + ":8410" }

// makeCertificates makes a directory of certificates, and a gossip key.
func makeCertificates(t *testing.T, now time.Time, names ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "certs")
	if _, err := makeCerts(dir, names, now); err != nil {
		t.Fatal(err)
	}
	return dir
}

// severalNode is a node of several in a process of its own.
type severalNode struct {
	*exec.Cmd
	seat
	client  *api.Client
	logName string
}

// serveSeveral starts a node, which waits for as many founders as are expected, or with none
// for a cluster to join, by the gossip of others. It ends with the test.
func serveSeveral(t *testing.T, s seat, expect int, others ...seat) *severalNode {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--name", s.name, "--data", s.data, "--listen", s.host + ":8410", "--ranges", "4", "--allow-private",
		"--disk-reserve", "4194304", "--cluster", s.cluster(), "--gossip", s.gossip()}
	if expect > 0 {
		args = append(args, "--bootstrap-expect", strconv.Itoa(expect))
	}
	if s.certs != "" {
		args = append(args, "--certs", s.certs)
	}
	for _, other := range others {
		args = append(args, "--join", other.gossip())
	}
	log, err := os.CreateTemp(t.TempDir(), s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	n := &severalNode{Cmd: exec.CommandContext(t.Context(), program, args...), seat: s, logName: log.Name()}
	n.Env, n.Stdout, n.Stderr = append(os.Environ(), asProgram+"=1"), log, log
	if n.client, err = api.NewClient(s.url(), nil); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Wait() }) // killed with the test's context, if it has not ended before
	return n
}

// stop ends the node in order.
func (n *severalNode) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(n.Process.Signal(os.Interrupt), n.Wait()); err != nil {
		t.Fatalf("%s: %v\n%s", n.name, err, n.said(t))
	}
}

// said is what the node has printed.
func (n *severalNode) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(n.logName)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// says waits until the node has printed a line with all of some words.
func (n *severalNode) says(t *testing.T, words ...string) {
	t.Helper()
	await(t, fmt.Sprintf("a line of %s with %q", n.name, words), func() error {
		text := n.said(t)
		if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
		}) {
			return fmt.Errorf("it said\n%s", text)
		}
		return nil
	})
}

func (n *severalNode) get(path string) (string, error) { return get(n.url() + path) }

// get returns the body of an answer with status 200, or an error with that of another one.
func get(url string) (string, error) {
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// ready waits until the node serves.
func (n *severalNode) ready(t *testing.T) {
	t.Helper()
	await(t, n.name+" serves", func() error {
		_, err := n.get("/readyz")
		if err != nil {
			err = fmt.Errorf("%w; it said\n%s", err, n.said(t))
		}
		return err
	})
}

// metric returns the value of a metric with its labels, 0 for one that is not there.
func (n *severalNode) metric(t *testing.T, name string) float64 {
	t.Helper()
	text, err := n.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	return 0
}

// patience bounds every wait for a node; what is waited for takes seconds.
const patience = time.Minute

func await(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func refusedTotal(reason peer.Reason) string {
	return fmt.Sprintf("corona_peer_refused_total{reason=%q}", string(reason))
}
