package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// node is the program under test, one process after the other on one data
// directory and one address.
type node struct {
	*child.Process
	address string
	api     *api.Client
	folder  string // of all that the test keeps of it
	data    string // the data directory
}

// How the node is run: polls as fast as the contract accepts.
const (
	pollInterval = "1s"
	pollFloor    = "200ms"
)

// nodeLog is the file with what the node's processes print, in the run's folder.
const nodeLog = "node.log"

// diskName is the folder with the data directory: a disk of its own where it is
// to be filled up.
const diskName = "disk"

// newNode takes a program, or builds one into the folder, and chooses an address.
func newNode(ctx context.Context, folder, program string) (n *node, err error) {
	if program == "" {
		if program, err = child.Build(ctx, folder); err != nil {
			return nil, err
		}
	}
	n = &node{folder: folder, data: filepath.Join(folder, diskName, "data")}
	if n.address, err = child.OwnAddress(ctx); err != nil {
		return nil, err
	}
	if n.api, err = api.NewClient("http://"+n.address, nil); err != nil {
		return nil, err
	}
	n.Process, err = child.New(filepath.Join(folder, nodeLog), program, "serve",
		"--data", n.data, "--listen", n.address, "--allow-private",
		"--interval", pollInterval, "--floor", pollFloor, "--log-level", "debug")
	return n, err
}

// smallDisk is what the data directory is on when it is to be filled up, in bytes.
const smallDisk = 256 << 20

// makeDisk makes the folder that the data directory is in, of a size or, with 0,
// of the machine's disk.
func makeDisk(ctx context.Context, folder string, size int64) error {
	disk := filepath.Join(folder, diskName)
	if err := os.Mkdir(disk, 0o700); err != nil || size == 0 {
		return err
	}
	return diskfault.Mount(ctx, disk, size)
}

// takeDisk takes a small disk away. What was on it stays in the folder on request.
func takeDisk(folder string, keep bool) (err error) {
	disk := filepath.Join(folder, diskName)
	if _, there := os.Stat(filepath.Join(disk, "data")); keep && there == nil {
		out, failed := exec.Command("cp", "-a", filepath.Join(disk, "data"), filepath.Join(folder, "data")).CombinedOutput()
		if failed != nil {
			err = fmt.Errorf("keep the data: %w: %s", failed, out)
		}
	}
	return errors.Join(err, diskfault.Unmount(disk))
}
