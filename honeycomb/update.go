package honeycomb

import (
	"fmt"
	"slices"
)

// Update solves again after the columns changed in some rows, and reads these rows
// again. The result is that of a full solve. Where the answer stays inside the
// window of steps that the last one left, only the changed channels, those of
// their hosts and the window are looked at; else it is a full solve.
//
// An error (a [*RowError], or [ErrConfig] for a row that does not exist) means
// that nothing was taken over.
func (p *Problem) Update(rows ...int) (*Solution, error) {
	rows = slices.Clone(rows)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	changed := make([]factors, len(rows))
	for k, i := range rows {
		if i < 0 || i >= len(p.crowd) {
			return nil, fmt.Errorf("%w: no row %d", ErrConfig, i)
		}
		if err := p.channels.checkRow(i); err != nil {
			return nil, err
		}
		changed[k] = p.factors(i)
	}
	if p.amend(rows, changed) {
		return p.report(p.last), nil
	}
	return p.again()
}

// again prepares and solves from the start.
func (p *Problem) again() (*Solution, error) {
	fresh, err := p.prepareAgain()
	if err != nil {
		return nil, err
	}
	*p = *fresh
	p.path.columns, p.path.terms = &p.columns, &p.columns
	return p.Solve(), nil
}

func (p *Problem) prepareAgain() (*Problem, error) {
	if p.beside == nil {
		return Prepare(p.config, p.channels)
	}
	others, factor := p.beside.of, p.beside.correction
	others.Correct = func(float64) float64 { return factor }
	return PrepareBeside(p.config, p.channels, others)
}

// amend takes changed rows over and walks on from where the last solve stopped. It
// returns false when that does not lead to the answer; the problem must then be
// prepared again.
func (p *Problem) amend(rows []int, changed []factors) bool {
	if p.last.certified || p.released != keepAll || len(rows) > len(p.path.rung)/16 || p.path.high == 0 && p.last.ending != atCeiling {
		return false
	}
	for k, i := range rows {
		if p.reshapes(i, changed[k]) {
			return false
		}
	}
	affected := p.takeOver(rows, changed)
	p.path.exclude(affected)
	p.readmit(affected)
	return !p.floorLoad.over(p.loadLimit()) && p.resume()
}

// reshapes says whether a change goes beyond weight and cost where a host's cap
// could bind: then its channels and bounds have to be looked at from the start.
func (p *Problem) reshapes(i int, f factors) bool {
	if p.channels.Host == nil || p.channels.Host[i] < 0 || p.config.capOf(p.channels.Host[i]) == 0 {
		return false
	}
	appears := (p.crowd[i] > 0) != (f.subscribers > 0)
	return appears || p.channels.MinRate != nil || p.channels.MaxRate != nil
}

// takeOver replaces the factors of rows and returns, in order, all rows whose
// steps may have changed, taken out of the path's sums.
func (p *Problem) takeOver(rows []int, changed []factors) []int {
	var affected, crowded []int
	for k, i := range rows {
		p.leave(i)
		affected = append(affected, i)
		p.floorLoad.add(-p.floorOf(i))
		p.count(p.crowd[i], p.columns.costOf(i), -1)
		p.admit(i, changed[k])
		held := p.released
		if h := p.hostOf(i); h >= 0 {
			crowded = append(crowded, h)
			held = max(held, p.hosts.list[h].released)
		}
		if p.columns.lo != nil {
			p.columns.hi[i] = p.upper(i)
			p.columns.lo[i] = p.lower(i, held)
		}
		p.floorLoad.add(p.floorOf(i))
	}
	p.settle()
	slices.Sort(crowded)
	for _, h := range slices.Compact(crowded) {
		affected = append(affected, p.retighten(&p.hosts.list[h], rows)...)
	}
	slices.Sort(affected)
	return slices.Compact(affected)
}

func (p *Problem) floorOf(i int) float64 {
	lo, _ := p.columns.bounds(i)
	return p.columns.loadOf(i, lo)
}

// leave takes a channel, at its rung, out of the sums.
func (p *Problem) leave(i int) {
	p.path.totals.load.add(-p.columns.loadOf(i, p.path.rung[i]))
	p.path.totals.wait.add(-p.columns.waitOf(i, p.path.rung[i]))
}

// readmit puts channels back: to their rung before the window, and their steps
// into it. Those that come before the last taken one are taken.
func (p *Problem) readmit(affected []int) {
	path := &p.path
	known := len(path.steps)
	inverse := (1 - closed) / path.high
	for _, i := range affected {
		n := path.enter(i, path.key[i]*inverse)
		path.rung[i] = n
		path.totals.load.add(path.loadOf(i, n))
		path.totals.wait.add(path.waitOf(i, n))
	}
	slices.SortFunc(path.steps[known:], path.before)
	path.merge(known)
}

// resume walks to the goal as it is now.
func (p *Problem) resume() bool {
	path := &p.path
	budget := p.loadLimit()
	path.goal.limit = budget
	if path.goal.wait {
		path.goal.limit = p.waitLimit()
	}
	switch p.last.ending {
	case inside:
		if !path.retreat() || !path.advance() {
			return false
		}
	case atCeiling:
		if path.past(path.goal) {
			return false
		}
	case atFloor:
		if !path.past(path.goal) || !path.goal.wait {
			return false
		}
	}
	if p.config.Policy == Fast && !p.sameSide(budget) || p.config.Cost == Bytes && p.crowded() {
		return false
	}
	unmet := p.last.unmet
	p.last = p.outcome(p.last.ending)
	p.last.unmet = unmet
	return p.last.lambda >= p.hosts.least
}

// sameSide says whether, of target and budget, the one that ended the last
// solve still does.
func (p *Problem) sameSide(budget float64) bool {
	if p.path.goal.wait {
		return !p.path.load.over(budget)
	}
	return p.path.wait.over(p.waitLimit())
}

// hostOf returns the index of a channel's host among those whose cap can bind,
// or −1.
func (p *Problem) hostOf(i int) int {
	if p.channels.Host == nil {
		return -1
	}
	h, found := slices.BinarySearchFunc(p.hosts.list, p.channels.Host[i],
		func(h host, number int32) int { return int(h.number) - int(number) })
	if !found {
		return -1
	}
	return h
}

// retighten solves a host again and returns its channels, but for the changed
// ones, whose highest rung moved, taken out of the path's sums.
func (p *Problem) retighten(h *host, changed []int) (moved []int) {
	if p.config.Cost != Polls {
		return nil
	}
	rows := p.hosts.rowsOf(*h)
	before := make([]int32, len(rows))
	for k, row := range rows {
		before[k] = p.columns.hi[row]
	}
	var scratch path
	p.tightenHost(h, &scratch)
	for k, row := range rows {
		_, known := slices.BinarySearch(changed, int(row))
		if p.columns.hi[row] != before[k] && !known {
			p.leave(int(row))
			moved = append(moved, int(row))
		}
	}
	return moved
}

// exclude removes the steps of channels, which are in order.
func (w *window) exclude(channels []int) {
	kept, taken := 0, 0
	for k, s := range w.steps {
		if _, found := slices.BinarySearch(channels, int(s.channel)); found {
			continue
		}
		w.steps[kept] = s
		kept++
		if k < w.taken {
			taken++
		}
	}
	w.steps, w.taken = w.steps[:kept], taken
}

// merge puts the steps from an index on, which are in order like those before,
// in their places, and takes those that come before a taken one.
func (w *window) merge(from int) {
	fresh := slices.Clone(w.steps[from:])
	at, known, left := len(w.steps), from, len(fresh)
	var overdue int // of fresh: the first so many
	for left > 0 {
		at--
		last := fresh[left-1]
		if known > 0 && w.before(w.steps[known-1], last) > 0 {
			known--
			w.steps[at] = w.steps[known]
			continue
		}
		if known < w.taken {
			overdue = max(overdue, left)
		}
		w.steps[at] = last
		left--
	}
	for _, s := range fresh[:overdue] {
		w.take(s)
	}
	w.taken += overdue
}
