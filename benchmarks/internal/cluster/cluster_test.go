//go:build linux

package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/need"
)

// unavailable is why the tests cannot run here, or nil.
var unavailable error

// folder and program are of the contained process.
var folder, program string

func TestMain(m *testing.M) {
	code, err := Contained("cluster-test", os.Getenv("HARNESS_BINARY"), false, func(p, f string) int {
		program, folder = p, f
		if os.Getenv(hangVariable) != "" {
			return hang()
		}
		return m.Run()
	})
	switch {
	case errors.Is(err, ErrUnavailable):
		unavailable = err
		code = m.Run()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// contained skips a test where this machine permits no namespaces; in CI it fails.
func contained(t *testing.T) {
	t.Helper()
	if unavailable != nil {
		need.Missing(t, "%v", unavailable)
	}
}

// reaches reports whether a node gets an answer from another: one direction that is cut
// is enough that it does not.
func reaches(t *testing.T, n *network, from, to int) bool {
	t.Helper()
	var conn net.Conn
	err := n.within(from, func() (err error) {
		conn, err = net.DialTimeout("tcp4", net.JoinHostPort(address(to), "9"), 300*time.Millisecond)
		return err
	})
	if err == nil {
		conn.Close()
	}
	var timeout net.Error
	if err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
		t.Fatalf("%d to %d: %v, which tells the sender", from, to, err)
	}
	return err == nil
}

// heard reports whether a datagram of a node arrives at another.
func heard(t *testing.T, n *network, from, to int) bool {
	t.Helper()
	var receiver net.PacketConn
	err := n.within(to, func() (err error) {
		receiver, err = net.ListenPacket("udp4", net.JoinHostPort(address(to), "7"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	err = n.within(from, func() error {
		sender, err := net.Dial("udp4", net.JoinHostPort(address(to), "7"))
		if err != nil {
			return err
		}
		defer sender.Close()
		_, err = sender.Write([]byte("x"))
		return err
	})
	if err != nil {
		t.Fatalf("%d to %d: %v, which tells the sender", from, to, err)
	}
	_ = receiver.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	_, _, err = receiver.ReadFrom(make([]byte, 1))
	return err == nil
}

// A cut drops one direction, between two nodes, and tells neither.
func TestCut(t *testing.T) {
	contained(t)
	n, err := newNetwork(3)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	for node := range 3 {
		var listener net.Listener
		err := n.within(node, func() (err error) {
			listener, err = net.Listen("tcp4", net.JoinHostPort(address(node), "9"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	want := func(what string, connects, hears [3][3]bool) {
		t.Helper()
		for from := range 3 {
			for to := range 3 {
				if from == to {
					continue
				}
				if got := reaches(t, n, from, to); got != connects[from][to] {
					t.Errorf("%s: %d reaches %d: %t", what, from, to, got)
				}
				if got := heard(t, n, from, to); got != hears[from][to] {
					t.Errorf("%s: %d is heard by %d: %t", what, from, to, got)
				}
			}
		}
	}
	all := [3][3]bool{{true, true, true}, {true, true, true}, {true, true, true}}
	want("at first", all, all)
	if err := n.set(0, 1, true); err != nil {
		t.Fatal(err)
	}
	want("0 to 1 cut", [3][3]bool{{true, false, true}, {false, true, true}, {true, true, true}},
		[3][3]bool{{true, false, true}, {true, true, true}, {true, true, true}})
	if err := n.set(0, 1, false); err != nil {
		t.Fatal(err)
	}
	want("healed", all, all)
}

// Three nodes found a cluster; one is killed, one suspended; both come back.
func TestNodes(t *testing.T) {
	contained(t)
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	own, err := os.MkdirTemp(folder, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(t.Context(), Config{Program: program, Folder: own, Args: []string{"--ranges", "2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Nodes[1].Pause(); err != nil {
		t.Fatal(err)
	}
	if c.Nodes[1].Ready(t.Context()) {
		t.Error("a suspended node answers")
	}
	if err := errors.Join(c.Nodes[1].Resume(), c.Nodes[0].Start()); err != nil {
		t.Fatal(err)
	}
	for _, node := range c.Nodes {
		if !within(time.Minute, func() bool { return node.Ready(t.Context()) || node.Alive() != nil }) || node.Alive() != nil {
			t.Fatalf("%s does not serve again: %v\n%s", node.Name, node.Alive(), node.LogTail())
		}
	}
}

// A fresh node joins; a node that was killed and wiped joins as another one of its name.
func TestAddAndWipe(t *testing.T) {
	contained(t)
	if testing.Short() {
		t.Skip("starts four nodes")
	}
	own, err := os.MkdirTemp(folder, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(t.Context(), Config{Program: program, Folder: own, Args: []string{"--ranges", "2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fourth, err := c.Add(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fourth.Run(program, c.Nodes[:3])
	if err := fourth.Start(); err != nil {
		t.Fatal(err)
	}
	first := idOf(t, c.Nodes[0], "n1", "")
	idOf(t, c.Nodes[0], "n4", "")
	if err := errors.Join(c.Nodes[0].Kill(), c.Nodes[0].Wipe()); err != nil {
		t.Fatal(err)
	}
	c.Nodes[0].Run(program, c.Nodes)
	if err := c.Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	idOf(t, fourth, "n1", first)
}

// idOf waits until a node knows one of a name that lives and has another ID than one of
// before, and returns that.
func idOf(t *testing.T, at *Node, name, before string) (id string) {
	t.Helper()
	var known api.Nodes
	found := within(time.Minute, func() (found bool) {
		known, _ = at.Nodes(t.Context()) // not yet
		for _, n := range known.Nodes {
			if n.Name == name && n.State == "alive" && n.ID != before {
				id, found = n.ID, true
			}
		}
		return found
	})
	if !found {
		t.Fatalf("%s knows %+v, want another %s than %q; the end of its log:\n%s", at.Name, known, name, before, at.LogTail())
	}
	return id
}

// hangVariable makes this test's program one that starts a process and waits for ever.
const hangVariable = "HARNESS_TEST_HANG"

// hangName is a name that no other process has.
const hangName = "600.2026"

func hang() int {
	if _, err := newNetwork(2); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := exec.Command("sleep", hangName).Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("hangs")
	select {}
}

// hanging returns how many processes hang started live. This test's process sees those
// of the namespaces inside its own.
func hanging(t *testing.T) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if line, _ := os.ReadFile(name); strings.Contains(string(line), hangName) { // it may have ended meanwhile
			n++
		}
	}
	return n
}

// What a contained process has started ends when the process that contains it is killed.
func TestNothingIsLeft(t *testing.T) {
	contained(t)
	outer := exec.Command("/proc/self/exe", "-test.run=^$")
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "HARNESS_") {
			outer.Env = append(outer.Env, setting)
		}
	}
	outer.Env = append(outer.Env, hangVariable+"=1", "HARNESS_BINARY="+program, "TMPDIR="+folder)
	out, err := outer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "hangs" || hanging(t) != 1 {
		t.Errorf("it says %q, %d processes hang", lines.Text(), hanging(t))
	}
	if err := outer.Process.Kill(); err != nil {
		t.Error(err)
	}
	for lines.Scan() { // until all that had this output are gone
	}
	_ = outer.Wait() // "killed"
	if !within(time.Minute, func() bool { return hanging(t) == 0 }) {
		t.Fatalf("%d processes are left", hanging(t))
	}
}

// within waits until something is so of processes, and reports whether it came in time.
func within(most time.Duration, so func() bool) bool {
	for end := time.Now().Add(most); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
