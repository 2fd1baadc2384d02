package engine

import (
	"context"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// body compares what came with the current version: raw first, which is cheap.
func (a *asker) body(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	found := p.found(resp)
	found.RawHash = deltas.RawHash(resp.Body)
	if p.holding.OK && found.RawHash == p.holding.RawHash {
		found.Kind = p.holding.Kind
		r.outcome, r.kind = unchanged, found.Kind
		return a.confirmed(ctx, p, a.keep(p, r.withWords(p, resp, p.hints()), found, nil))
	}
	a.engine.releaseHost(p, &r)
	from := a.baseOf(p)
	core, err := a.extract(ctx, p, resp, from.core)
	if err != nil {
		return r.extractFailed(ctx, err)
	}
	return a.compare(ctx, p, r.withWords(p, resp, core.Hints), found, from, core)
}

// delta makes the whole document of an answer of new and changed entries alone (RFC
// 3229). Where that cannot be done, the next poll gets all of it.
func (a *asker) delta(ctx context.Context, p *poll, r result, resp *fetcher.Response) result {
	a.engine.releaseHost(p, &r)
	r.forget = true
	from := a.contentOf(p, p.version, p.hash)
	if from.err != nil {
		a.cache.Failed("read what a delta is of", from.err)
		return r.fail(cacheError, "content cache: it cannot be read")
	}
	if from.core == nil {
		return r.fail(cacheError, "content cache: the content that a delta is of is lost")
	}
	partial, err := a.extract(ctx, p, resp, from.core)
	if err != nil {
		return r.extractFailed(ctx, err)
	}
	core, err := deltas.Merge(from.core, partial)
	if err != nil {
		return r.fail(documentError, "delta: "+err.Error())
	}
	r.forget = false
	found := p.found(resp)
	if core.Hash == p.hash {
		found.RawHash = p.holding.RawHash // of the whole document, which has not changed
	}
	return a.compare(ctx, p, r.withWords(p, resp, core.Hints), found, from, core)
}

// found is the holding of a response, apart from its content: the feed URL is still the
// current version's.
func (p *poll) found(resp *fetcher.Response) store.Holding {
	return store.Holding{Texts: p.holding.Texts.WithValidators(resp.ETag, resp.LastModified, otherURL(p.url, p.own)), OK: true}
}

// otherURL returns the URL that answered, "" when it is the channel's own.
func otherURL(answered, own string) string {
	if answered == own {
		return ""
	}
	return answered
}

// compare tells content of the current version from a change; from is the base of that
// change.
func (a *asker) compare(ctx context.Context, p *poll, r result, found store.Holding, from base, core *deltas.Core) result {
	found.Texts = found.Texts.WithFeedURL(clipURL(core.FeedURL))
	found.Kind, r.kind = core.Kind, core.Kind
	if p.version > 0 && core.Hash == p.hash {
		r.outcome = unchanged
		return a.confirmed(ctx, p, a.keep(p, r, found, core))
	}
	return a.change(ctx, p, r, found, from, core)
}

// clipURL drops a URL that is too long to be kept per channel.
func clipURL(url string) string {
	const most = 1024
	if len(url) > most {
		return ""
	}
	return url
}

// keep stores new validators of the current version: its content is committed, so a 304
// against them hides nothing. core is nil when the body was the very same. The cache is
// written only when that saves a full GET after a restart: a page that never repeats
// itself and has no validators, or whose validators change each time, costs no write
// per poll.
func (a *asker) keep(p *poll, r result, found store.Holding, core *deltas.Core) result {
	if !p.holding.OK {
		if err := a.cache.Keep(p.id, core); err != nil {
			a.cache.Failed("write the current version", err)
			return r
		}
		r.staged = true
	}
	same := p.holding.SameOnDisk(found)
	found.Pair = p.holding.Pair.After(same)
	if !same && found.Pair == store.PairNew || same && p.holding.Pair == store.PairUnsaved || !r.words.near(p.said()) {
		if err := a.cache.SetRecord(p.id, p.record(&r, found)); err != nil {
			a.cache.Failed("write the current version", err)
			return r
		}
	}
	r.holding = found
	return r
}

// extract reads the core content of a document, of a few documents at a time. base is
// what it was before, nil if that is not there.
func (a *asker) extract(ctx context.Context, p *poll, resp *fetcher.Response, base *deltas.Core) (*deltas.Core, error) {
	select {
	case a.cpu <- struct{}{}:
		defer func() { <-a.cpu }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return deltas.Extract(deltas.Document{Body: resp.Body, ContentType: resp.ContentType, URL: p.url, Base: base})
}

func (r result) extractFailed(ctx context.Context, err error) result {
	if ctx.Err() != nil {
		return r.fail(canceled, "canceled")
	}
	return r.fail(documentError, err.Error())
}
