package sim

import (
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// A view is what a node of the paper's overlay knows of all channels:
// regions[l] summarises those that are owned by nodes that share l digits with
// it, itself among them. A region is the node's own smaller one and those of its
// contacts in row l, each as the contact knows it: so knowledge of the whole
// takes as many maintenance intervals as tables have rows.
type view struct {
	contacts [][]int32 // by row
	regions  []local.Summary
	heard    []local.Summary // of row l's contacts together, by row
}

// link gives the view the routing table of a place in a ring, whose nodes have
// numbers. What is known stays known.
func (v *view) link(r *ring.Ring, place int, number []int32) {
	v.contacts = make([][]int32, r.Rows(place))
	for row := range v.contacts {
		for _, contact := range r.Row(place, row) {
			if contact != ring.None {
				v.contacts[row] = append(v.contacts[row], number[contact])
			}
		}
	}
	regions, heard := v.regions, v.heard
	v.regions = make([]local.Summary, len(v.contacts)+1)
	v.heard = make([]local.Summary, len(v.contacts))
	copy(v.regions, regions)
	copy(v.heard, heard)
}

// aggregate hears from all contacts, and puts it together with what the node
// tells of its own channels.
func (v *view) aggregate(own local.Summary, members []*member) {
	rows := len(v.contacts)
	v.regions[rows] = own
	for row := rows - 1; row >= 0; row-- {
		var parts []local.Summary
		for _, contact := range v.contacts[row] {
			parts = append(parts, members[contact].view.region(row+1))
		}
		v.heard[row] = local.Merge(parts...)
		v.regions[row] = local.Merge(v.heard[row], v.regions[row+1])
	}
}

// region returns what a node tells of the nodes that share so many digits with it: of
// itself where none does.
func (v *view) region(digits int) local.Summary {
	return v.regions[min(digits, len(v.regions)-1)]
}
