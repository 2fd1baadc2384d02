package main

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// nodeStore keeps the logs and votes of all groups of one node.
type nodeStore interface {
	// group returns the stores of a group, 0 to groups-1. It is called once for
	// each.
	group(id int) (raft.LogStore, raft.StableStore, error)
	// fsyncs returns how often the store has asked the disk to make writes last.
	fsyncs() uint64
	// close releases files; what was acknowledged is on disk without it.
	close() error
}

// open opens or makes the store of a kind in a directory that exists.
func open(kind, dir string, groups int) (nodeStore, error) {
	switch kind {
	case "file":
		return openFiles(dir, groups)
	case "bbolt":
		return openBolt(dir)
	case "pebble":
		return openPebble(dir)
	case "journal":
		return openJournal(dir)
	case "none":
		return memory{}, nil
	case "wal":
		return openWAL(dir, groups)
	default:
		return nil, fmt.Errorf("store %q: want one of %v", kind, kinds())
	}
}

// kinds returns the stores that are compared; the first is what the others'
// ratios refer to.
func kinds() []string { return []string{"file", "bbolt", "pebble", "wal", "journal", "none"} }

// lasts says whether a store can be opened again: the last two of kinds are
// bounds, no stores.
func lasts(kind string) bool { return kind != "journal" && kind != "none" }
