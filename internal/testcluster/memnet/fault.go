package memnet

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults that [Draw] draws from.
const (
	Cut     Kind = "cut"     // of one direction between two hosts
	Isolate Kind = "isolate" // one host from all others
	Split   Kind = "split"   // hosts into two sides
	Slow    Kind = "slow"    // one direction: half a second more, 64 KiB a second
	Reset   Kind = "reset"   // the connections between two hosts, at once
)

// kinds are all kinds of faults.
var kinds = []Kind{Cut, Isolate, Split, Slow, Reset}

// Fault is a fault that begins and ends. Faults of the same hosts at the same time end
// each other.
type Fault struct {
	Kind  Kind
	Sides [2][]string // from and to, of kinds with a direction; else the two sides
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %v %v", f.Kind, f.Sides[0], f.Sides[1])
}

// Draw draws a fault of some kinds, by default any, among two hosts or more. It depends
// on its arguments alone.
func Draw(random *rand.Rand, hosts []string, among ...Kind) Fault {
	if len(among) == 0 {
		among = kinds
	}
	f := Fault{Kind: among[random.IntN(len(among))]}
	order := make([]string, len(hosts))
	for i, j := range random.Perm(len(hosts)) {
		order[i] = hosts[j]
	}
	first, second := 1, 2
	switch f.Kind {
	case Isolate:
		second = len(order)
	case Split:
		first, second = 1+random.IntN(len(order)-1), len(order)
	}
	f.Sides = [2][]string{order[:first], order[first:second]}
	return f
}

// Begin begins the fault.
func (f Fault) Begin(n *Network) {
	from, to := f.Sides[0][0], f.Sides[1][0]
	switch f.Kind {
	case Cut:
		n.Cut(from, to)
	case Isolate, Split:
		n.Partition(f.Sides[0], f.Sides[1])
	case Slow:
		n.SetLink(from, to, Link{Latency: 500 * time.Millisecond, Jitter: 100 * time.Millisecond, Bandwidth: 64 << 10})
	case Reset:
		n.Reset(from, to)
	}
}

// End ends the fault.
func (f Fault) End(n *Network) {
	from, to := f.Sides[0][0], f.Sides[1][0]
	switch f.Kind {
	case Cut:
		n.Heal(from, to)
	case Isolate, Split:
		n.Join(f.Sides[0], f.Sides[1])
	case Slow:
		n.Restore(from, to)
	}
}
