package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// poll asks the origin once and finds out what that means. It changes no state
// but the cache's and the ledger's: finish does.
func (e *Engine) poll(ctx context.Context, p *poll) result {
	if !p.loaded && e.load(p) {
		p.begun = time.Now()
		return result{outcome: deferred}
	}
	room, r, ok := e.reserve(ctx, p)
	p.begun = time.Now()
	if !ok {
		return r
	}
	e.noteBegin(p)
	r = e.exchange(ctx, p, room)
	e.tellMoved(ctx, p, &r)
	return r
}

// reserve waits until there is memory for a body that is known to be large. ok is false
// when the origin is not to be asked after all.
func (e *Engine) reserve(ctx context.Context, p *poll) (room fetcher.Room, r result, ok bool) {
	if p.body == 0 {
		return room, r, true
	}
	room, err := e.fetcher.Reserve(ctx, p.url, p.body, p.whole)
	if err != nil {
		return room, r.fetchFailed(err), false
	}
	if !e.mayAsk(p) {
		room.Release()
		return room, result{outcome: deferred}, false
	}
	return room, r, true
}

func (e *Engine) mayAsk(p *poll) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	ok := e.mu.schedule.ask(p, now)
	e.dispatch(now)
	e.wakeIfSooner()
	return ok
}

// exchange makes the poll's request, and goes by what comes back.
func (e *Engine) exchange(ctx context.Context, p *poll, room fetcher.Room) result {
	req := p.request()
	req.Room = room
	resp, err := e.fetcher.Fetch(ctx, req)
	r := result{took: time.Since(p.begun)}
	if err != nil {
		return r.fetchFailed(err)
	}
	defer resp.Release()
	r.took -= resp.Waited
	r.status, r.wire, r.memory = resp.Status, resp.WireBytes, resp.Memory
	return e.respond(ctx, p, r, resp)
}

// request is what the poll asks.
func (p *poll) request() fetcher.Request {
	etag, lastModified, validatorURL := p.holding.Validators.Split()
	return fetcher.Request{
		URL: p.url, ETag: etag, LastModified: lastModified, ValidatorURL: cmp.Or(validatorURL, p.own), Trail: p.trail(),
		Subscribers: uint64(p.subscribers), Delta: etag != "" && p.holding.Kind == deltas.KindFeed,
	}
}

// lateness is how long after it might have begun the poll began: what the engine
// is to blame for. What its host made it wait is counted apart.
func (p *poll) lateness() time.Duration {
	return max(0, time.Duration(p.begun.UnixNano()-p.eligible))
}

// respond goes by the response's status.
func (e *Engine) respond(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	switch {
	case resp.Location != "":
		r.location, r.permanent = resp.Location, resp.Status == 301 || resp.Status == 308
		r.outcome, r.retryAfter = redirected, resp.RetryAfter
		return r
	case resp.Status == 200, resp.Status == 203:
		return e.body(ctx, p, r, resp)
	case resp.Delta:
		return e.delta(ctx, p, r, resp)
	case resp.Status == 304 && p.holding.Validators != (store.Validators{}):
		return e.confirm(ctx, p, r, resp)
	case resp.Status == 410 && p.movedHere() && !p.hasLearned():
		return e.gone(ctx, p, r)
	}
	return e.refusal(p, r, resp)
}

// confirm is what follows from a 304 to the validators of what is held.
func (e *Engine) confirm(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	r.outcome, r.kind = notModified, p.holding.Kind
	r = r.hear(resp, p.hints())
	r.holding = p.holding
	r.holding.Pair = store.PairConfirmed
	etag, lastModified, url := p.holding.Validators.Split()
	renewed := resp.LastModified != "" && resp.LastModified != lastModified
	if renewed {
		r.holding.Validators = store.NewValidators(etag, resp.LastModified, url)
	}
	if renewed || p.holding.Pair == store.PairUnsaved || !r.words.near(p.said()) {
		e.cache.Failed("write record", e.cache.SetRecord(p.id, p.record(&r, r.holding)))
	}
	return e.stands(ctx, p, r)
}

// hear takes in what a good answer says of when to ask again.
func (r result) hear(resp *fetcher.Response, hints deltas.Hints) result {
	r.heard, r.remaining = true, resp.Fresh.Remaining
	r.words = words{fresh: resp.Fresh.Lifetime, source: resp.Fresh.Source, hints: hints}
	return r
}

// said returns what the origin has said before.
func (p *poll) said() words {
	if p.words == nil {
		return words{}
	}
	return *p.words
}

func (p *poll) hints() deltas.Hints { return p.said().hints }

// stands is what follows from a poll that showed the current version. The owner
// is told only while it waits for a candidate to be confirmed.
func (e *Engine) stands(ctx context.Context, p *poll, r result) result {
	if !p.held {
		return r
	}
	e.releaseHost(p, &r)
	answer, err := e.ask(ctx, p.report())
	if err != nil {
		return r.ownerFailed(err)
	}
	if answer.Ended {
		r.outcome, r.over = ended, true
		return r
	}
	return r.knows(answer)
}

// gone tells the owner that the origin withdrew the channel for good.
func (e *Engine) gone(ctx context.Context, p *poll, r result) result {
	e.releaseHost(p, &r)
	report := p.report()
	report.Gone = true
	answer, err := e.ask(ctx, report)
	if err != nil {
		return r.ownerFailed(err)
	}
	r = r.fail(gone, statusText(r.status))
	r.over = answer.Ended
	return r
}

// refusal is what follows from a response that is no content: the channel's own
// failure, or a wish of its host's.
func (e *Engine) refusal(p *poll, r result, resp *fetcher.Response) result {
	r.retryAfter = resp.RetryAfter
	e.releaseHost(p, &r)
	r = r.fail(statusError, statusText(resp.Status))
	switch p.verdict {
	case hostRefuses:
		r.outcome = refused
		e.metrics.hostRefusals.Inc()
	case channelRefuses:
		e.metrics.channelRefusals.Inc()
	}
	return r
}
