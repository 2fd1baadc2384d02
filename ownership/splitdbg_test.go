package ownership

import "fmt"

func (w *town) dumpRanges() {
	for _, n := range w.nodes {
		s := n.store
		if s == nil {
			continue
		}
		fmt.Println(n.name, "held", s.held, "known rev", s.known.Load().Revision, "meta rev", s.meta.fsm.meta().Revision, s.repairs.all())
		for _, r := range s.known.Load().Ranges {
			b, err := s.state.Founding(r.Id)
			line := fmt.Sprint("  ", r, " founding ", b, err, " covered ", s.covered(rangeOf(r)))
			if way := s.byID(r.Id); way != nil {
				if g := way.local(); g != nil {
					line += fmt.Sprint(" rng ", g.rng(), " state ", g.state.Range(), g.state.Index(), " ", g.raft.String(), g.raft.State(), " serving ", g.serving.Load(), g.raft.Stats())
				}
			}
			fmt.Println(line)
		}
	}
}
