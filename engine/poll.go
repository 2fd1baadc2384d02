package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// poll is one poll of a channel: what its worker needs of the target, as it was
// when the poll began. Orders may change the target meanwhile.
type poll struct {
	schedule.Poll[channelState]
	id          channel.ID
	own         string // the channel's URL
	url         string // to be asked: own, or where redirects led
	hop         *hop   // how redirects led there; nil: they did not
	redirect    *redirectState
	incarnation uint64
	version     uint64
	hash        deltas.Hash
	holding     store.Holding
	words       *words
	known       int64 // when a poll before it began that showed version; 0: not known
	subscribers uint32
	loaded      bool
	candidate   bool
	stray       bool
	first       bool // of a channel without content: rates do not plan it
	whole       bool // the last body was received to its end

	row   int32            // in the ledger
	noted store.ChannelRow // what stands there, but for this poll's begin

	reportInterval bool          // report minInterval to the owner
	minInterval    time.Duration // the time between two polls that the origin asks for
	reportSize     bool          // report noted.Size to the owner
}

// begin takes the next poll; ok is false when there is none, or no worker for it.
func (cs *channels) begin(now int64) (p poll, ok bool) {
	if p.Poll, ok = cs.schedule.Begin(now); !ok {
		return p, false
	}
	t := p.Target
	p.see(t)
	if t.Channel.row == 0 {
		t.Channel.row = cs.rows.Take()
	}
	p.row, p.noted = t.Channel.row, channelRow(t)
	return p, true
}

// see copies the target as it is.
func (p *poll) see(t *target) {
	c := &t.Channel
	p.id, p.own, p.url, p.incarnation = t.ID, c.url, c.url, c.incarnation
	odd := c.oddities()
	p.hop, p.redirect = odd.hop, odd.redirect
	p.whole = t.Failures() == 0 && odd.lastError == ""
	if p.asksLearned() {
		p.own = p.redirect.own
	}
	if p.hop != nil {
		p.url = p.hop.url
	}
	p.version, p.hash = c.version, c.hash
	p.holding, p.loaded, p.candidate, p.stray = c.holding, c.loaded, c.candidate, c.stray
	p.words, p.subscribers, p.known, p.first = c.words, c.subscribers, knownAt(t), c.isFirst()
}

// poll asks the origin once and finds out what that means. It changes no state
// but the cache's and the ledger's; [Engine.finish] does.
func (e *Engine) poll(ctx context.Context, p *poll) result {
	if !p.loaded && e.load(p) {
		p.Begun = time.Now()
		return result{outcome: deferred}
	}
	room, r, ok := e.reserve(ctx, p)
	p.Begun = time.Now()
	if !ok {
		return r
	}
	e.writeBegin(p)
	r = e.exchange(ctx, p, room)
	e.reportMove(ctx, p, &r)
	return r
}

// reserve waits until there is memory for a body that is known to be large. ok is false
// when the origin is not to be asked after all.
func (e *Engine) reserve(ctx context.Context, p *poll) (room fetcher.Room, r result, ok bool) {
	if p.Body == 0 {
		return room, r, true
	}
	room, err := e.fetcher.Reserve(ctx, p.url, p.Body, p.whole)
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
	ok := e.mu.channels.schedule.MayAsk(&p.Poll, p.Target.Channel.incarnation == p.incarnation, now)
	e.dispatch(now)
	e.wakeIfSooner()
	return ok
}

// exchange makes the poll's request, and goes by what comes back.
func (e *Engine) exchange(ctx context.Context, p *poll, room fetcher.Room) result {
	req := p.request()
	req.Room = room
	resp, err := e.fetcher.Fetch(ctx, req)
	r := result{took: time.Since(p.Begun)}
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
	r = r.withWords(resp, p.hints())
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
	return e.confirmed(ctx, p, r)
}

// withWords adds what a good answer says of when to ask again.
func (r result) withWords(resp *fetcher.Response, hints deltas.Hints) result {
	r.answered, r.remaining = true, resp.Fresh.Remaining
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

// confirmed is what follows from a poll that showed the current version. The owner
// is told only while it waits for a candidate to be confirmed.
func (e *Engine) confirmed(ctx context.Context, p *poll, r result) result {
	if !p.candidate {
		return r
	}
	e.releaseHost(p, &r)
	answer, err := e.report(ctx, p.newReport())
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
func (e *Engine) gone(ctx context.Context, p *poll, r result) result {
	e.releaseHost(p, &r)
	report := p.newReport()
	report.Gone = true
	answer, err := e.report(ctx, report)
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
	switch p.Verdict {
	case schedule.HostRefuses:
		r.outcome = refused
		e.metrics.hostRefusals.Inc()
	case schedule.ChannelRefuses:
		e.metrics.channelRefusals.Inc()
	}
	return r
}
