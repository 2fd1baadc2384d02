package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// node is the program under test, one process after the other on one data
// directory and one address.
type node struct {
	binary, folder string
	address        string
	log            *os.File // what all processes print
	process        *exec.Cmd
	ended          chan error // of the process: what Wait returned, once
}

// How the node is run: polls as fast as the contract accepts.
const (
	pollInterval = "1s"
	pollFloor    = "200ms"
)

// newNode takes a program, or builds one into the folder, and chooses an address.
func newNode(ctx context.Context, folder, program string) (n *node, err error) {
	n = &node{binary: program, folder: folder}
	if program == "" {
		if n.binary, err = build(ctx, folder); err != nil {
			return nil, err
		}
	}
	if n.address, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	n.log, err = os.OpenFile(n.logName(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return n, err
}

// build builds this module's program.
func build(ctx context.Context, folder string) (program string, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	program = filepath.Join(folder, "corona")
	command := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/corona")
	command.Dir = strings.TrimSpace(string(root))
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the node: %w\n%s", err, out)
	}
	return program, nil
}

func (n *node) logName() string { return filepath.Join(n.folder, "node.log") }

// freeAddress returns a loopback address with a port that nobody uses now.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// start begins a process and does not wait until it serves.
func (n *node) start() error {
	n.process = exec.Command(n.binary, "serve",
		"--data", filepath.Join(n.folder, "data"), "--listen", n.address, "--allow-private",
		"--interval", pollInterval, "--floor", pollFloor, "--log-level", "debug")
	n.process.Stdout, n.process.Stderr = n.log, n.log
	fmt.Fprintf(n.log, "--- start %s\n", strings.Join(n.process.Args, " "))
	if err := n.process.Start(); err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	process, ended := n.process, make(chan error, 1)
	go func() { ended <- process.Wait() }() // ends with the process, whose end is waited for below
	n.ended = ended
	return nil
}

// errEnded is a process that ended without being told to.
var errEnded = errors.New("the node ended by itself")

// alive returns errEnded when the process is gone.
func (n *node) alive() error {
	select {
	case err := <-n.ended:
		n.ended <- err
		return fmt.Errorf("%w: %w; the end of its log:\n%s", errEnded, err, n.logTail())
	default:
		return nil
	}
}

// kill ends the process with SIGKILL. One that ended before is errEnded.
func (n *node) kill() error {
	if err := n.alive(); err != nil {
		return err
	}
	if err := n.process.Process.Kill(); err != nil {
		return fmt.Errorf("kill the node: %w", err)
	}
	<-n.ended
	fmt.Fprintln(n.log, "--- killed")
	return nil
}

// stopWithin is how soon the process must end after SIGTERM.
const stopWithin = 20 * time.Second

// stop ends the process with SIGTERM, after which it must exit with 0 in time.
func (n *node) stop() error {
	if err := n.process.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the node: %w", err)
	}
	select {
	case err := <-n.ended:
		if err != nil {
			return fmt.Errorf("after SIGTERM: %w; the end of its log:\n%s", err, n.logTail())
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("not stopped %s after SIGTERM", stopWithin), n.kill())
	}
}

// close kills what is left.
func (n *node) close() error {
	if n.ended != nil && n.alive() == nil {
		_ = n.kill() // it may end in this very moment
	}
	return n.log.Close()
}

// logTail returns the last lines that the processes printed.
func (n *node) logTail() string {
	const most = 4096
	file, err := os.Open(n.logName())
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	tail, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(tail)
}
