package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// poll asks the origin once and finds out what that means.
func (a *asker) poll(ctx context.Context, p *poll) result {
	if !p.loaded && a.engine.load(p) {
		p.Begun = time.Now()
		return result{outcome: deferred}
	}
	room, r, ok := a.reserve(ctx, p)
	p.Begun = time.Now()
	if !ok {
		return r
	}
	a.engine.writeBegin(p)
	r = a.exchange(ctx, p, room)
	a.reportMove(ctx, p, &r)
	return r
}

// reserve waits until there is memory for a body that is known to be large. ok is false
// when the origin is not to be asked after all.
func (a *asker) reserve(ctx context.Context, p *poll) (room fetcher.Room, r result, ok bool) {
	if p.Body == 0 {
		return room, r, true
	}
	room, err := a.fetcher.Reserve(ctx, p.url, p.Body, p.whole)
	if err != nil {
		return room, r.fetchFailed(err), false
	}
	if !a.engine.mayAsk(p) {
		room.Release()
		return room, result{outcome: deferred}, false
	}
	return room, r, true
}

// exchange makes the poll's request, and goes by what comes back.
func (a *asker) exchange(ctx context.Context, p *poll, room fetcher.Room) result {
	if planted.Bug(19) && p.holding.Texts.HasValidators() && rand.IntN(100) == 0 {
		room.Release()
		p.Sent = p.Begun
		return result{outcome: notModified, kind: p.holding.Kind, holding: p.holding, status: 304}
	}
	req := p.request()
	req.Room, req.Permit = room, fetcher.Permit{Channel: p.id, Stands: a.leased}
	resp, err := a.fetcher.Fetch(ctx, req)
	r := result{took: time.Since(p.Begun)}
	if err != nil {
		p.Sent = sentOf(err)
		return r.fetchFailed(err)
	}
	defer resp.Release()
	p.Sent = resp.Sent
	r.took -= resp.Waited
	r.status, r.wire, r.memory = resp.Status, resp.WireBytes, resp.Memory
	return a.respond(ctx, p, r, resp)
}

// respond goes by the response's status.
func (a *asker) respond(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	switch {
	case resp.Location != "":
		r.location, r.permanent = resp.Location, resp.Status == 301 || resp.Status == 308
		r.outcome, r.retryAfter = redirected, resp.RetryAfter
		return r
	case resp.Status == 200, resp.Status == 203:
		return a.body(ctx, p, r, resp)
	case resp.Delta:
		return a.delta(ctx, p, r, resp)
	case resp.Status == 304 && p.holding.Texts.HasValidators():
		return a.confirm(ctx, p, r, resp)
	case resp.Status == 410 && p.movedHere() && !p.hasLearned():
		return a.gone(ctx, p, r)
	}
	return a.refusal(p, r, resp)
}

// confirm is what follows from a 304 to the validators of what is held.
func (a *asker) confirm(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	r.outcome, r.kind = notModified, p.holding.Kind
	r = r.withWords(p, resp, p.hints())
	r.holding = p.holding
	r.holding.Pair = store.PairConfirmed
	etag, lastModified, url := p.holding.Texts.Validators()
	renewed := resp.LastModified != "" && resp.LastModified != lastModified
	if renewed {
		r.holding.Texts = r.holding.Texts.WithValidators(etag, resp.LastModified, url)
	}
	if renewed || p.holding.Pair == store.PairUnsaved || !r.words.near(p.said()) {
		a.cache.Failed("write record", a.cache.SetRecord(p.id, p.record(&r, r.holding)))
	}
	return a.confirmed(ctx, p, r)
}

// withWords adds what a good answer says of when to ask again.
func (r result) withWords(p *poll, resp *fetcher.Response, hints deltas.Hints) result {
	r.answered, r.remaining = true, resp.Fresh.Remaining
	r.words = words{fresh: resp.Fresh.Lifetime, source: resp.Fresh.Source, hints: hints}
	r.words.aged = r.words.age(r.remaining, p.words)
	return r
}

// refusal is what follows from a response that is no content: the channel's own
// failure, or a wish of its host's.
func (a *asker) refusal(p *poll, r result, resp *fetcher.Response) result {
	r.retryAfter = resp.RetryAfter
	a.engine.releaseHost(p, &r)
	r = r.fail(statusError, statusText(resp.Status))
	switch p.Verdict {
	case pace.HostRefuses:
		r.outcome = refused
		a.metrics.hostRefusals.Inc()
		a.engine.tellRest(p.Host)
	case pace.ChannelRefuses:
		a.metrics.channelRefusals.Inc()
	}
	return r
}
