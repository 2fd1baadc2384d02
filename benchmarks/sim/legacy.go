package sim

// legacy returns how subscribers poll that do so alone, each once an interval.
func legacy(o Options, q demand) func(c int) polling {
	return func(c int) polling {
		r := readers{wedge{make([]poller, int(q.at(c, o.horizon()))), o.Interval}}
		for i := range r.pollers {
			r.pollers[i] = poller{from: q.begins(c, i), until: never}
		}
		return r
	}
}
