//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// kind is a way in which something goes wrong.
type kind struct {
	name    string
	says    string
	class   class
	inDeck  int // how many of a deck
	least   time.Duration
	most    time.Duration // how long it lasts; 0: an instant, or as long as it takes
	slot    slot
	nodes   int                   // whose processes it has for itself from its beginning on; everyNode: of all
	may     func(n *nemesis) bool // whether it may begin now; nil: always
	inflict func(n *nemesis, ctx context.Context, f *fault) error
}

// class says which runs a kind is drawn in unless they are told otherwise.
type class int

const (
	ofAnyRun  class = iota
	ofLongRun       // nodes come and go: -long
	ofDamage        // a disk has not what was written to it: -damage
)

// slot is something that one fault at a time has for itself; most have none.
type slot string

const (
	links     slot = "links"     // between nodes
	placement slot = "placement" // which nodes there are, and what lies on their disks
	programs  slot = "programs"  // which of the two programs each node runs
	splits    slot = "splits"    // how many ranges there are
)

const everyNode = -1

// kinds are all of them, in the order in which they are told of.
var kinds = []kind{
	{name: "kill", says: "SIGKILL of a node; a new process follows", inDeck: 3, most: 4 * time.Second, nodes: 1, inflict: (*nemesis).kill},
	{name: "all", says: "SIGKILL of all nodes at once", inDeck: 1, most: 2 * time.Second, nodes: everyNode, inflict: (*nemesis).killAll},
	{name: "handover", says: "SIGTERM of a node, which hands its ranges over; a new process follows", inDeck: 2, most: 2 * time.Second, nodes: 1, inflict: (*nemesis).handOver},
	{name: "pause", says: "SIGSTOP of a node, then SIGCONT", inDeck: 2, least: 2 * time.Second, most: 6 * time.Second, nodes: 1, inflict: (*nemesis).pause},
	{name: "oneway", says: "what a node sends to one other, or to all others, is dropped", inDeck: 2, least: 2 * time.Second, most: 6 * time.Second, slot: links, inflict: (*nemesis).oneWay},
	{name: "cut", says: "what two nodes send each other is dropped; both reach the third", inDeck: 1, least: 2 * time.Second, most: 6 * time.Second, slot: links, inflict: (*nemesis).cut},
	{name: "isolate", says: "a node is cut off from all others, not from its clients", inDeck: 2, least: 2 * time.Second, most: 7 * time.Second, slot: links, inflict: (*nemesis).isolate},
	{name: "slow", says: "each sync of a node takes 2 s", inDeck: 1, nodes: 1, inflict: (*nemesis).disk},
	{name: "eio", says: "a sync of a node fails, which ends its process; a new one follows", inDeck: 1, nodes: 1, inflict: (*nemesis).disk},
	{name: "enospc", says: "writes of a node fail for want of space", inDeck: 1, nodes: 1, inflict: (*nemesis).disk},
	{name: "split", says: "ranges are split, four more than there are", inDeck: 1, slot: splits, may: (*nemesis).maySplit, inflict: (*nemesis).split},

	{name: "join", says: "a fresh node joins the cluster, and gets replicas", class: ofLongRun, inDeck: 2, slot: placement, may: (*nemesis).mayJoin, inflict: (*nemesis).join},
	{name: "drain", says: "a node gives away what it has, is stopped and removed", class: ofLongRun, inDeck: 1, slot: placement, may: (*nemesis).mayShrink, inflict: (*nemesis).drain},
	{name: "remove", says: "a node is killed and removed, and half of the time comes back", class: ofLongRun, inDeck: 1, slot: placement, nodes: 1, may: (*nemesis).mayShrink, inflict: (*nemesis).remove},
	{name: "wipe", says: "a node is killed, and starts with an empty directory under its old name", class: ofLongRun, inDeck: 1, slot: placement, nodes: 1, may: (*nemesis).mayLose, inflict: (*nemesis).wipe},
	{name: "roll", says: "one node after the other is stopped, and started with the other of two programs", class: ofLongRun, inDeck: 1, slot: programs, inflict: (*nemesis).roll},
	{name: "flip", says: "a bit of a file of a node's log or state is another one after a kill", class: ofDamage, inDeck: 1, slot: placement, nodes: 1, may: (*nemesis).mayLose, inflict: (*nemesis).flip},
	{name: "tail", says: "the end of a node's log, which was synced, is gone after a kill", class: ofDamage, inDeck: 1, slot: placement, nodes: 1, may: (*nemesis).mayLose, inflict: (*nemesis).tail},
}

// kindNames returns the names of the kinds up to a class.
func kindNames(upTo class) (names []string) {
	for _, k := range kinds {
		if k.class <= upTo {
			names = append(names, k.name)
		}
	}
	return names
}

func kindOf(name string) *kind {
	return &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

func describeKinds() string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-9s %d  %s%s\n", k.name, k.inDeck, k.says, map[class]string{ofLongRun: " (-long)", ofDamage: " (-damage)"}[k.class])
	}
	return b.String()
}

func ofDisk(name string) bool { return slices.Contains([]string{"slow", "eio", "enospc"}, name) }

// ofPlacement reports whether nodes come and go by a kind, or what they have.
func ofPlacement(name string) bool { return kindOf(name).slot == placement }

// deckOf returns as many names of each kind as a deck holds.
func deckOf(names []string) (deck []string) {
	for _, k := range kinds {
		if slices.Contains(names, k.name) {
			deck = append(deck, slices.Repeat([]string{k.name}, k.inDeck)...)
		}
	}
	return deck
}
