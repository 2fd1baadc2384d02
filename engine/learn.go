package engine

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// shownWith is what an origin sent beside a content.
func shownWith(found store.Holding) Shown {
	s := Shown{RawHash: found.RawHash, FeedURL: found.Texts.FeedURL()}
	s.ETag, s.LastModified, s.URL = found.Texts.Validators()
	return s
}

func (s Shown) holding(kind deltas.Kind) store.Holding {
	return store.Holding{
		RawHash: s.RawHash, Texts: store.NewTexts(s.ETag, s.LastModified, s.URL, s.FeedURL),
		Kind: kind, Pair: store.PairNew, OK: true,
	}
}

// Learn accepts what another poller has found: the next poll begins with the validators
// of that version, so that its content is fetched once for all pollers. Where the content
// cannot be made here, the next poll fetches it. News of a channel that is not ordered,
// of another incarnation, or of an earlier version changes nothing.
func (e *Engine) Learn(news News) {
	if !e.enter() {
		return
	}
	defer e.asking.RUnlock()
	t, said := e.claimFor(&news)
	if t == nil {
		return
	}
	held, err := e.adoptNews(&news, said)
	if e.cache.Failed("take in another poller's version", err); err != nil {
		held = store.Holding{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	if c := &t.Channel; c.incarnation == news.Incarnation && c.version == news.Version && c.hash == news.Hash && held.OK {
		c.holding, c.loaded = held, true
	}
	e.mu.channels.schedule.Finish(t, now)
	e.wakeIfSooner()
}

// claimFor notes what is current by the news, and claims the channel where its content
// is to be made here; nil: there is nothing to be made. The origin's words of now are for
// the record.
func (e *Engine) claimFor(news *News) (t *target, said words) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t = e.mu.channels.index.get(news.Channel)
	if t == nil || t.Dropped() || t.Channel.incarnation != news.Incarnation || news.Version < t.Channel.version {
		return nil, said
	}
	c := &t.Channel
	c.candidate = news.Held
	if c.version == news.Version && c.hash == news.Hash && (news.Content == nil || c.holding.OK) {
		return nil, said
	}
	c.setVersion(news.Version, news.Hash)
	t.SetFirst(c.isFirst())
	if !t.Idle() || news.Patch == nil && news.Content == nil {
		return nil, said
	}
	e.mu.channels.schedule.Claim(t)
	if c.words != nil {
		said = *c.words
	}
	return t, said
}

// adoptNews makes the content of a version that is committed the poller's, with what the
// origin sent with it.
func (e *Engine) adoptNews(news *News, said words) (store.Holding, error) {
	core, err := e.contentOf(news)
	if err != nil || core == nil {
		return store.Holding{}, err
	}
	if core.Hash != news.Hash {
		return store.Holding{}, fmt.Errorf("version %d is told with content %s, not %s", news.Version, core.Hash, news.Hash)
	}
	held := news.Shown.holding(core.Kind)
	record := store.Record{
		Incarnation: news.Incarnation, Version: news.Version, Hash: news.Hash, Holding: held,
		Lifetime: said.fresh, Aged: said.aged, Source: said.source, Hints: said.hints,
	}
	return held, e.cache.Adopt(news.Channel, record, core, news.Base)
}

// contentOf returns the content of the version that news are of; nil: it cannot be made.
func (e *Engine) contentOf(news *News) (*deltas.Core, error) {
	if news.Content != nil {
		return news.Content, nil
	}
	base, err := e.cache.Content(news.Channel, news.Base)
	if err != nil || base == nil {
		return nil, err
	}
	return deltas.ApplyDelta(base, news.Patch)
}

// Lacks reports that a channel is ordered whose current version this engine does not
// hold: its next poll would fetch it in full.
func (e *Engine) Lacks(id channel.ID) bool {
	if !e.enter() {
		return false
	}
	defer e.asking.RUnlock()
	e.read(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.mu.channels.index.get(id)
	return t != nil && !t.Dropped() && t.Channel.version > 0 && !t.Channel.holding.OK
}

// Held returns the current version of a channel for another poller, with its content; ok
// is false where this engine does not hold it.
func (e *Engine) Held(id channel.ID) (news News, ok bool) {
	if !e.enter() {
		return news, false
	}
	defer e.asking.RUnlock()
	e.read(id)
	held, news := e.held(id)
	if !held.OK {
		return news, false
	}
	core, err := e.cache.Content(id, news.Hash)
	e.cache.Failed("read content for another poller", err)
	news.Shown, news.Content = shownWith(held), core
	return news, core != nil
}

// held returns what the engine holds of a channel, and of which version.
func (e *Engine) held(id channel.ID) (held store.Holding, news News) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.mu.channels.index.get(id)
	if t == nil {
		return held, news
	}
	c := &t.Channel
	return c.holding, News{Channel: id, Incarnation: c.incarnation, Version: c.version, Hash: c.hash, Held: c.candidate}
}

// read notes the record of a channel that has not been read since it was ordered.
func (e *Engine) read(id channel.ID) {
	if !e.unread(id) {
		return
	}
	found, ok, err := e.cache.Record(id)
	if e.cache.Failed("read record", err); !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.channels.recall(id, &found, wallNow())
	e.wakeIfSooner()
}

func (e *Engine) unread(id channel.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.mu.channels.index.get(id)
	return t != nil && !t.Channel.loaded
}

// Ordered returns how the channels of a range are polled that have an order.
func (e *Engine) Ordered(r channel.Range) (paces []Pace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range e.mu.channels.index.all() {
		if !t.Dropped() && r.Has(t.ID.Bucket()) {
			paces = append(paces, t.Channel.pace(t))
		}
	}
	return paces
}

func (c *channelState) pace(t *target) Pace {
	rate, width, rank := t.Pace()
	return Pace{Channel: t.ID, Incarnation: c.incarnation, Rate: rate, Width: width, Rank: rank}
}
