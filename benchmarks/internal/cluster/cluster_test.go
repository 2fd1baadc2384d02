//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unavailable is why the tests cannot run here, or nil.
var unavailable error

// folder and program are of the contained process.
var folder, program string

func TestMain(m *testing.M) {
	code, err := Contained("cluster-test", os.Getenv("HARNESS_BINARY"), false, func(p, f string) int {
		program, folder = p, f
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
	switch {
	case unavailable != nil && os.Getenv("CI") == "true":
		t.Fatal(unavailable)
	case unavailable != nil:
		t.Skip(unavailable)
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
	own := filepath.Join(folder, t.Name())
	if err := os.Mkdir(own, 0o700); err != nil {
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
		for deadline := time.Now().Add(time.Minute); !node.Ready(t.Context()); time.Sleep(100 * time.Millisecond) {
			if err := node.Alive(); err != nil || time.Now().After(deadline) {
				t.Fatalf("%s does not serve again: %v\n%s", node.Name, err, node.LogTail())
			}
		}
	}
}

// What a contained process starts ends with it, also when the process that asked for
// it is killed.
func TestNothingIsLeft(t *testing.T) {
	contained(t)
	if program == "" {
		t.Fatal("no program")
	}
	// The test's process is the first of its namespaces: their end is the kernel's
	// work. What can be seen from inside is that no other process and no name of a
	// network is there.
	out, err := exec.CommandContext(context.Background(), "ip", "netns", "list").CombinedOutput()
	if err != nil || strings.Contains(string(out), "node") {
		t.Errorf("ip netns list: %s, %v", out, err)
	}
	if os.Getpid() != 1 {
		t.Errorf("process %d", os.Getpid())
	}
}
