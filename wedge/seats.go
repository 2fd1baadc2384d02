package wedge

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/channel"
)

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
