package engine

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// poll asks the origin once and finds out what that means. It changes no state
// but the cache's: finish does.
func (e *Engine) poll(ctx context.Context, p *poll) result {
	if !p.loaded {
		e.load(p)
	}
	p.begun = time.Now()
	etag, lastModified, validatorURL := p.holding.validators.split()
	resp, err := e.fetcher.Fetch(ctx, fetcher.Request{
		URL: p.url, ETag: etag, LastModified: lastModified, ValidatorURL: validatorURL,
	})
	r := result{took: time.Since(p.begun)}
	if err != nil {
		return r.fetchFailed(err)
	}
	defer resp.Release()
	r.status, r.wire = resp.Status, resp.WireBytes
	return e.respond(ctx, p, r, resp)
}

// lateness is how long after it might have begun the poll began: what the engine
// is to blame for. What its host made it wait is counted apart.
func (p *poll) lateness() time.Duration {
	return max(0, time.Duration(p.begun.UnixNano()-p.eligible))
}

// respond goes by the response's status.
func (e *Engine) respond(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	switch resp.Status {
	case 200, 203:
		return e.body(ctx, p, r, resp)
	case 304:
		if p.holding.validators == (validators{}) {
			return r.statusFailed(resp) // unasked: it says nothing about what we hold
		}
		r.outcome = notModified
		return e.stands(ctx, p, r)
	case 410:
		return e.gone(ctx, p, r)
	default:
		return r.statusFailed(resp)
	}
}

// stands is what follows from a poll that showed the current version. The owner
// is told only while it waits for a candidate to be confirmed.
func (e *Engine) stands(ctx context.Context, p *poll, r result) result {
	if !p.held {
		return r
	}
	e.releaseHost(p, r.took)
	answer, err := e.ask(ctx, p.report())
	if err != nil {
		return r.fail(ownerError, "owner: "+err.Error())
	}
	if answer.Ended {
		r.outcome = ended
		return r
	}
	return r.knows(answer)
}

// gone tells the owner that the origin withdrew the channel for good.
func (e *Engine) gone(ctx context.Context, p *poll, r result) result {
	e.releaseHost(p, r.took)
	report := p.report()
	report.Gone = true
	answer, err := e.ask(ctx, report)
	if err != nil {
		return r.fail(ownerError, "owner: "+err.Error())
	}
	r = r.fail(gone, "HTTP status 410")
	if answer.Ended {
		r.outcome = ended
	}
	return r
}

// body compares what came with the current version: raw first, which is cheap.
func (e *Engine) body(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	found := holding{
		rawHash:    deltas.RawHash(resp.Body),
		validators: newValidators(resp.ETag, resp.LastModified, otherURL(resp.FinalURL, p.url)),
		ok:         true,
	}
	if p.holding.ok && found.rawHash == p.holding.rawHash {
		found.feedURL = p.holding.feedURL
		r.outcome = unchanged
		return e.stands(ctx, p, e.hold(p, r, found, nil))
	}
	e.releaseHost(p, r.took)
	core, err := e.extract(ctx, p, resp)
	if err != nil {
		return r.extractFailed(ctx, err)
	}
	found.feedURL = clipURL(core.FeedURL)
	if p.version > 0 && core.Hash == p.hash {
		r.outcome = unchanged
		return e.stands(ctx, p, e.hold(p, r, found, core))
	}
	return e.change(ctx, p, r, found, core)
}

// otherURL returns the URL that answered, "" when it is the channel's own.
func otherURL(answered, own string) string {
	if answered == own {
		return ""
	}
	return answered
}

// clipURL drops a URL that is too long to be kept per channel.
func clipURL(url string) string {
	const most = 1024
	if len(url) > most {
		return ""
	}
	return url
}

// hold keeps new validators of the current version: its content is committed, so
// a 304 against them hides nothing. core is nil when the body was the very same.
// The cache is written only when that saves a full GET after a restart: a page
// that never repeats itself and has no validators costs no write per poll.
func (e *Engine) hold(p *poll, r result, found holding, core *deltas.Core) result {
	var err error
	if !p.holding.ok {
		err = e.cache.stageAlone(p.id, core)
		r.staged = err == nil
	}
	if err == nil && !p.holding.sameOnDisk(found) {
		err = e.cache.setRecord(p.id, p.record(found))
	}
	if err != nil {
		e.cacheFailed("write the current version", err)
		return r
	}
	r.holding = found
	return r
}

// extract takes a document apart, a few at a time.
func (e *Engine) extract(ctx context.Context, p *poll, resp *fetcher.Response) (*deltas.Core, error) {
	select {
	case e.cpu <- struct{}{}:
		defer func() { <-e.cpu }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	url := resp.FinalURL
	if url == "" {
		url = p.url
	}
	return deltas.Extract(deltas.Document{Body: resp.Body, ContentType: resp.ContentType, URL: url})
}

func (r result) extractFailed(ctx context.Context, err error) result {
	if ctx.Err() != nil {
		return r.fail(canceled, "canceled")
	}
	return r.fail(documentError, err.Error())
}
