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

// without returns the members that another roster does not have.
func (r *roster) without(other *roster) []Member {
	return slices.DeleteFunc(slices.Clone(r.members), func(m Member) bool { return slices.Contains(other.members, m) })
}

// within returns the members that another roster has too.
func (r *roster) within(other *roster) *roster {
	gone := r.without(other)
	if len(gone) == 0 {
		return r
	}
	return newRoster(slices.DeleteFunc(slices.Clone(r.members), func(m Member) bool { return slices.Contains(gone, m) }))
}

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

// membership is the nodes that poll: those that were seen first, and each other one, or one
// without it, once that has been seen for long enough.
type membership struct {
	self    Member
	stands  time.Duration
	around  func() []Member      // need not hold self
	adopted *roster              // nil: not looked yet
	differs map[Member]time.Time // those that were seen last and are not adopted, and the reverse, and since when
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

// follow takes note of the nodes that are seen now, and reports whether others poll from now on.
// Changes that come close together are adopted together, since each has all channels ordered
// again: one that has stood for long enough waits for later ones, for as long again.
func (m *membership) follow(seen *roster, now time.Time) bool {
	if m.adopted == nil {
		return false
	}
	before := m.differs
	m.differs = make(map[Member]time.Time)
	youngest, oldest := 2*m.stands, time.Duration(0)
	for _, one := range slices.Concat(seen.without(m.adopted), m.adopted.without(seen)) {
		since, known := before[one]
		if !known {
			since = now
		}
		m.differs[one] = since
		youngest, oldest = min(youngest, now.Sub(since)), max(oldest, now.Sub(since))
	}
	if len(m.differs) == 0 || youngest < m.stands && oldest < 2*m.stands {
		return false
	}
	members := slices.Clone(m.adopted.members)
	for one, since := range m.differs {
		if now.Sub(since) < m.stands {
			continue
		}
		delete(m.differs, one)
		if i := slices.Index(members, one); i >= 0 {
			members = slices.Delete(members, i, i+1)
		} else {
			members = append(members, one)
		}
	}
	m.adopted = newRoster(members)
	return true
}
