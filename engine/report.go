package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// base is the content that a change is compared with.
type base struct {
	version uint64
	hash    deltas.Hash
	core    *deltas.Core // nil: the poller has it not
	err     error        // or cannot read it
}

// maxReports bounds how often one poll is compared again because the owner had
// moved on: other pollers may keep finding changes.
const maxReports = 4

// change reports a body that is not the current version, and makes it state if
// the owner's answer says that it is now.
func (a *asker) change(ctx context.Context, p *poll, r result, found store.Holding, from base, core *deltas.Core) result {
	err := from.err
	beside := []deltas.Hash{p.hash, from.hash}
	for range maxReports {
		if err == nil {
			err = a.stage(p, &r, from, core, beside)
		}
		if err != nil {
			a.cache.Failed("stage content", err)
			r.noRoom = errors.Is(err, store.ErrNoSpace)
			return r.fail(cacheError, "content cache: it cannot be written")
		}
		report := p.newReport()
		if from.version != p.version {
			report.Known = time.Time{}
		}
		report.Late = from.version > p.version
		report.BaseVersion, report.Base, report.Core, report.Shown = from.version, from.core, core, shownWith(found)
		if planted.Bug(16) {
			r.holding = found
		}
		answer, err := a.report(ctx, report)
		if err != nil {
			return r.ownerFailed(err)
		}
		if answer.Ended {
			r.outcome, r.over = ended, true
			return r
		}
		r = r.withAnswer(answer)
		switch {
		case answer.Hash == core.Hash:
			return a.adopt(p, r, found, core, beside)
		case answer.Version != from.version: // another poller was first
			from = a.rebase(p, answer)
			beside = append(beside, from.hash)
		case answer.Held:
			r.outcome = heldBack
			return r
		default:
			r.outcome = declined
			return r
		}
	}
	return r.fail(outdated, "the owner had another version each time")
}

// stage stores what was seen beside the contents that it may be a change of, once per
// poll.
//
// First contents find no room on a disk that is nearly full: the owner would not
// commit them. They are a change of nothing, so they are written when they have
// become version 1, without waiting for the disk: a crash before that costs a GET.
func (a *asker) stage(p *poll, r *result, from base, core *deltas.Core, beside []deltas.Hash) error {
	switch {
	case p.version == 0 && !a.config.hasRoom():
		return store.ErrNoSpace
	case r.staged, from.version == 0 && !p.stray:
		return nil
	}
	var err error
	if p.stray {
		err = a.cache.StageAlone(p.id, core, beside...)
	} else {
		err = a.cache.Stage(p.id, core)
	}
	r.staged, r.stray = err == nil, err == nil
	return err
}

// adopt makes content that the owner has committed the poller's state, and removes
// the channel's other contents from the cache.
func (a *asker) adopt(p *poll, r result, found store.Holding, core *deltas.Core, beside []deltas.Hash) result {
	record := p.record(&r, found)
	record.Version, record.Hash = r.version, r.hash
	if r.staged {
		core = nil
	}
	a.cache.Failed("write record", a.cache.Adopt(p.id, record, core, beside...))
	found.Pair = store.PairNew
	r.outcome, r.holding, r.stray = changed, found, false
	return r
}

// baseOf finds what a change of the poll's channel is compared with: the current
// version's content or, without that, the content of the recorded version, which the
// owner will answer is stale. The current version's content may be there without a
// record: it was staged before a crash.
func (a *asker) baseOf(p *poll) base {
	if p.version == 0 {
		return base{hash: p.hash}
	}
	current := a.contentOf(p, p.version, p.hash)
	if current.err != nil || current.core != nil {
		return current
	}
	record, ok, err := a.cache.Record(p.id)
	if current.err = err; err != nil || !ok || record.Incarnation != p.incarnation {
		return current
	}
	if old := a.contentOf(p, record.Version, record.Hash); old.err != nil || old.core != nil {
		return old
	}
	return current
}

// contentOf is a version as far as the cache has it.
func (a *asker) contentOf(p *poll, version uint64, hash deltas.Hash) base {
	core, err := a.cache.Content(p.id, hash)
	return base{version, hash, core, err}
}

// rebase takes the owner's version as the base of another comparison, with the
// content that came with the answer, which is staged too, or that the cache has.
func (a *asker) rebase(p *poll, answer Answer) base {
	to := base{version: answer.Version, hash: answer.Hash, core: answer.Current}
	var err error
	if to.core == nil {
		to.core, err = a.cache.Content(p.id, answer.Hash)
	} else if to.core.Hash == answer.Hash {
		err = a.cache.Stage(p.id, to.core)
	} else {
		to.core, err = nil, fmt.Errorf("owner sent content %s as version %d, which is %s", to.core.Hash, answer.Version, answer.Hash)
	}
	a.cache.Failed("read the owner's version", err)
	return to
}

// report sends a report, within its time.
func (a *asker) report(ctx context.Context, report Report) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, a.config.ReportTimeout)
	defer cancel()
	begun := time.Now()
	answer, err := a.owner.Report(ctx, report)
	a.metrics.reports.Observe(time.Since(begun).Seconds())
	return answer, err
}

// newReport returns what every report of the poll says.
func (p *poll) newReport() Report {
	return Report{Channel: p.id, Incarnation: p.incarnation, Begun: p.Begun, Known: timeOf(p.known), BaseVersion: p.version}
}

// record returns the cache's record of the current version with what is held of it
// and what the origin said.
func (p *poll) record(r *result, h store.Holding) store.Record {
	return store.Record{
		Incarnation: p.incarnation, Version: p.version, Hash: p.hash, Holding: h,
		Lifetime: r.words.fresh, Aged: r.words.aged, Source: r.words.source, Hints: r.words.hints,
	}
}

// confirmed is what follows from a poll that showed the current version. The owner
// is told only while it waits for a candidate to be confirmed.
func (a *asker) confirmed(ctx context.Context, p *poll, r result) result {
	if !p.candidate {
		return r
	}
	a.engine.releaseHost(p, &r)
	answer, err := a.report(ctx, p.newReport())
	if err != nil {
		return r.ownerFailed(err)
	}
	if answer.Ended {
		r.outcome, r.over = ended, true
		return r
	}
	return r.withAnswer(answer)
}

// gone tells the owner that the origin withdrew the channel for good.
func (a *asker) gone(ctx context.Context, p *poll, r result) result {
	a.engine.releaseHost(p, &r)
	report := p.newReport()
	report.Gone = true
	answer, err := a.report(ctx, report)
	if err != nil {
		return r.ownerFailed(err)
	}
	r = r.fail(gone, statusText(r.status))
	r.over = answer.Ended
	return r
}
