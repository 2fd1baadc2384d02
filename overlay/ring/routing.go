package ring

import (
	"encoding/binary"
	"iter"
)

// None stands for a node that is not there.
const None = -1

// A Row is one row of a node's routing table: the contact in column j of row i
// shares i digits with the node, and its digit i is j. [None] where there is no
// such node, and in the node's own column.
type Row [Base]int

// Row returns a row of a node's routing table. Of several nodes that could fill
// a column each node takes one of its own, so that contacts are spread.
func (r *Ring) Row(node, row int) Row {
	id := r.ids[node]
	choice := binary.BigEndian.Uint64(id[len(id)-8:])
	var contacts Row
	for digit := range Base {
		contacts[digit] = None
		from, to := r.Wedge(withDigit(id, row, digit), row+1)
		if digit != Digit(id, row) && from < to {
			contacts[digit] = from + int(choice%uint64(to-from))
		}
	}
	return contacts
}

// Rows returns how many rows of a node's table have contacts: one more than the
// digits that it shares with its closest neighbour. 0 for a node alone.
func (r *Ring) Rows(node int) int {
	rows := 0
	for _, neighbour := range []int{node - 1, node + 1} {
		if neighbour >= 0 && neighbour < len(r.ids) {
			rows = max(rows, SharedDigits(r.ids[node], r.ids[neighbour])+1)
		}
	}
	return rows
}

// A Hop is one message of a dissemination: Depth is how many it has taken to
// reach To.
type Hop struct{ From, To, Depth int }

// Tree spreads something from a node through its wedge of a level, along routing
// tables: the node tells its contacts from row level on, and a node reached as a
// contact of row i tells its own from row i+1 on. Every other node of the wedge is
// told exactly once, within as many hops as the wedge has rows (paper, 3.4).
func (r *Ring) Tree(root, level int) iter.Seq[Hop] {
	return func(yield func(Hop) bool) { r.spread(root, level, 1, yield) }
}

func (r *Ring) spread(node, row, depth int, yield func(Hop) bool) bool {
	for rows := r.Rows(node); row < rows; row++ {
		for _, contact := range r.Row(node, row) {
			if contact == None {
				continue
			}
			if !yield(Hop{node, contact, depth}) || !r.spread(contact, row+1, depth+1, yield) {
				return false
			}
		}
	}
	return true
}
