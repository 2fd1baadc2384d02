package wedge

import (
	"cmp"
	"slices"
	"strings"
	"time"

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

// membership is the nodes that poll: those that were seen first, until others have been
// seen for long enough.
type membership struct {
	self    Member
	stands  time.Duration
	around  func() []Member // need not hold self
	adopted *roster         // nil: not looked yet
	seen    *roster         // that is not adopted yet; nil: no other
	since   time.Time       // when it was seen first, without another in between
}

// roster returns the nodes that poll.
func (m *membership) roster() *roster {
	if m.adopted == nil {
		m.adopted = m.look()
	}
	return m.adopted
}

// look returns the nodes that are around now. It changes nothing.
func (m *membership) look() *roster {
	members := m.around()
	if !slices.ContainsFunc(members, func(one Member) bool { return one.ID == m.self.ID }) {
		members = append(members, m.self)
	}
	return newRoster(members)
}

// follow adopts nodes that are seen now, once they have been seen for long enough, and
// reports whether it has.
func (m *membership) follow(seen *roster, now time.Time) bool {
	switch {
	case m.adopted == nil || seen.equal(m.adopted):
		m.seen = nil
		return false
	case m.seen == nil || !seen.equal(m.seen):
		m.seen, m.since = seen, now
		return false
	case now.Sub(m.since) < m.stands:
		return false
	}
	m.adopted, m.seen = seen, nil
	return true
}
