package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
)

// base is the content that a change is compared with.
type base struct {
	version uint64
	hash    deltas.Hash
	core    *deltas.Core // nil: the poller has it not
}

// maxReports bounds how often one poll is compared anew because the owner had
// moved on: other pollers may keep finding changes.
const maxReports = 4

// change reports a body that is not the current version, and makes it state if
// the owner's answer says that it is now.
func (e *Engine) change(ctx context.Context, p *poll, r result, found holding, core *deltas.Core) result {
	from, err := e.baseOf(p)
	beside := []deltas.Hash{p.hash, from.hash}
	if err == nil {
		err = e.stage(p, core, beside)
	}
	if err != nil {
		e.cacheFailed("stage content", err)
		return r.fail(cacheError, "content cache: "+err.Error())
	}
	r.staged, r.stray = true, true
	for range maxReports {
		report := p.report()
		report.BaseVersion, report.Base, report.Core = from.version, from.core, core
		answer, err := e.ask(ctx, report)
		if err != nil {
			return r.fail(ownerError, "owner: "+err.Error())
		}
		if answer.Ended {
			r.outcome = ended
			return r
		}
		r = r.knows(answer)
		switch {
		case answer.Hash == core.Hash:
			return e.adopt(p, r, found, beside)
		case answer.Held:
			r.outcome = heldBack
			return r
		case answer.Version == from.version:
			r.outcome = declined
			return r
		}
		from = e.rebase(p, answer)
		beside = append(beside, from.hash)
	}
	return r.fail(outdated, "the owner had another version each time")
}

// stage keeps what was seen beside the contents that it may turn out to be a
// change of.
func (e *Engine) stage(p *poll, core *deltas.Core, beside []deltas.Hash) error {
	if p.stray {
		return e.cache.stageAlone(p.id, core, beside...)
	}
	return e.cache.stage(p.id, core)
}

// adopt makes content that the owner has committed the poller's state, and rids
// the cache of what is beside it.
func (e *Engine) adopt(p *poll, r result, found holding, beside []deltas.Hash) result {
	record := p.record(found)
	record.version, record.hash = r.version, r.hash
	e.cacheFailed("write record", e.cache.adopt(p.id, record, beside...))
	r.outcome, r.holding, r.stray = changed, found, false
	return r
}

// baseOf finds what a change of the poll's channel is compared with: the current
// version's content, or that of the version which the cache holds, which the
// owner will call stale and mend. The content of the current version may be
// there without a record that says so: it was staged before a crash.
func (e *Engine) baseOf(p *poll) (base, error) {
	current := base{version: p.version, hash: p.hash}
	if p.version == 0 {
		return current, nil
	}
	var err error
	if current.core, err = e.cache.content(p.id, p.hash); err != nil || current.core != nil {
		return current, err
	}
	record, ok, err := e.cache.record(p.id)
	if err != nil || !ok || record.incarnation != p.incarnation {
		return current, err
	}
	old := base{version: record.version, hash: record.hash}
	if old.core, err = e.cache.content(p.id, record.hash); err != nil || old.core == nil {
		return current, err
	}
	return old, nil
}

// rebase takes the owner's version as the base of another comparison, with the
// content that came with the answer, which is staged too, or that the cache has.
func (e *Engine) rebase(p *poll, answer Answer) base {
	to := base{version: answer.Version, hash: answer.Hash, core: answer.Current}
	var err error
	if to.core == nil {
		to.core, err = e.cache.content(p.id, answer.Hash)
	} else if to.core.Hash == answer.Hash {
		err = e.cache.stage(p.id, to.core)
	} else {
		to.core, err = nil, fmt.Errorf("owner sent content %s as version %d, which is %s", to.core.Hash, answer.Version, answer.Hash)
	}
	e.cacheFailed("take in the owner's version", err)
	return to
}

// ask sends a report, within its time.
func (e *Engine) ask(ctx context.Context, report Report) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.config.ReportTimeout)
	defer cancel()
	begun := time.Now()
	answer, err := e.owner.Report(ctx, report)
	e.metrics.reports.Observe(time.Since(begun).Seconds())
	return answer, err
}

// report returns what every report of the poll says.
func (p *poll) report() Report {
	return Report{Channel: p.id, Incarnation: p.incarnation, Begun: p.begun, BaseVersion: p.version}
}

// record returns the cache's record of the current version with what is held of it.
func (p *poll) record(h holding) record {
	return record{incarnation: p.incarnation, version: p.version, hash: p.hash, holding: h}
}

// load fetches from the cache what it holds of the poll's channel, once after a
// start: content of another version than the current one counts for nothing.
func (e *Engine) load(p *poll) {
	found, ok, err := e.cache.record(p.id)
	e.cacheFailed("read record", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	t := p.target
	t.loaded = true
	if ok && found.incarnation == t.incarnation && found.version == t.version && found.hash == t.hash {
		t.holding = found.holding
	}
	p.see(t)
}

// cacheFailed counts and logs a failure of the cache, if there was one.
func (e *Engine) cacheFailed(doing string, err error) {
	if err == nil {
		return
	}
	e.metrics.cacheErrors.Inc()
	e.config.Logger.Error("content cache failed", "doing", doing, "error", err)
}
