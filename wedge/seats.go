package wedge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Member is a node that may poll.
type Member struct {
	ID     string
	Egress string // nodes with the same label are one to origins
}

// roster is the nodes that poll, grouped by egress label. The zero value has none.
type roster struct {
	members []Member     // by label, then ID
	labels  []channel.ID // of each different label, in the order of members
	of      [][]string   // the nodes of each label
}

func newRoster(members []Member) *roster {
	r := &roster{members: slices.Clone(members)}
	slices.SortFunc(r.members, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.Egress, b.Egress), strings.Compare(a.ID, b.ID))
	})
	r.members = slices.Compact(r.members)
	for i, m := range r.members {
		if i == 0 || m.Egress != r.members[i-1].Egress {
			r.labels = append(r.labels, overlay.NodeID(m.Egress))
			r.of = append(r.of, nil)
		}
		last := len(r.of) - 1
		r.of[last] = append(r.of[last], m.ID)
	}
	return r
}

func (r *roster) equal(other *roster) bool { return slices.Equal(r.members, other.members) }

func (r *roster) has(node string) bool {
	return slices.ContainsFunc(r.members, func(m Member) bool { return m.ID == node })
}

// shares reports whether another node has the label of a node.
func (r *roster) shares(node string) bool {
	return slices.ContainsFunc(r.of, func(nodes []string) bool { return len(nodes) > 1 && slices.Contains(nodes, node) })
}

// choose returns the nodes that are to poll a channel: of as many labels as it is wide,
// the one that the channel ranks first.
func (r *roster) choose(id channel.ID, width int) []string {
	chosen := make([]string, 0, min(width, len(r.labels)))
	for _, label := range overlay.Pollers(id, r.labels, width) {
		nodes := r.of[label]
		if len(nodes) == 1 {
			chosen = append(chosen, nodes[0])
			continue
		}
		ids := make([]channel.ID, len(nodes))
		for i, node := range nodes {
			ids[i] = overlay.NodeID(node)
		}
		chosen = append(chosen, nodes[overlay.Pollers(id, ids, 1)[0]])
	}
	return chosen
}

// seats are the pollers of channels, by rank. Each different wedge is kept once.
type seats struct {
	of     map[channel.ID]*wedge
	wedges map[string]*wedge
}

// wedge is the pollers of some channels, by rank.
type wedge struct {
	nodes    []string
	channels int
}

func newSeats() seats {
	return seats{of: make(map[channel.ID]*wedge), wedges: make(map[string]*wedge)}
}

// get returns the pollers of a channel, by rank; nil: it has none.
func (s *seats) get(id channel.ID) []string {
	if w := s.of[id]; w != nil {
		return w.nodes
	}
	return nil
}

// set gives a channel its pollers; none: it is forgotten.
func (s *seats) set(id channel.ID, nodes []string) {
	old := s.of[id]
	if old != nil && slices.Equal(old.nodes, nodes) {
		return
	}
	if old != nil {
		if old.channels--; old.channels == 0 {
			delete(s.wedges, wedgeKey(old.nodes))
		}
	}
	if len(nodes) == 0 {
		delete(s.of, id)
		return
	}
	key := wedgeKey(nodes)
	w := s.wedges[key]
	if w == nil {
		w = &wedge{nodes: nodes}
		s.wedges[key] = w
	}
	w.channels++
	s.of[id] = w
}

func wedgeKey(nodes []string) string { return strings.Join(nodes, "\x00") }

// forget takes the channels of a range out.
func (s *seats) forget(r channel.Range) {
	for id := range s.of {
		if r.Has(id.Bucket()) {
			s.set(id, nil)
		}
	}
}
