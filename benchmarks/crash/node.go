package main

import (
	"context"
	"path/filepath"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/child"
)

// node is the program under test, one process after the other on one data
// directory and one address.
type node struct {
	*child.Process
	address string
}

// How the node is run: polls as fast as the contract accepts.
const (
	pollInterval = "1s"
	pollFloor    = "200ms"
)

// newNode takes a program, or builds one into the folder, and chooses an address.
func newNode(ctx context.Context, folder, program string) (n *node, err error) {
	if program == "" {
		if program, err = child.Build(ctx, folder); err != nil {
			return nil, err
		}
	}
	n = new(node)
	if n.address, err = child.FreeAddress(ctx); err != nil {
		return nil, err
	}
	n.Process, err = child.New(filepath.Join(folder, "node.log"), program, "serve",
		"--data", filepath.Join(folder, "data"), "--listen", n.address, "--allow-private",
		"--interval", pollInterval, "--floor", pollFloor, "--log-level", "debug")
	return n, err
}
