package engine

import (
	"cmp"
	"slices"
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
	reportSpare    bool          // report noted.NotBefore to the other pollers
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

// said returns what the origin has said before.
func (p *poll) said() words {
	if p.words == nil {
		return words{}
	}
	return *p.words
}

func (p *poll) hints() deltas.Hints { return p.said().hints }

// request is what the poll asks.
func (p *poll) request() fetcher.Request {
	etag, lastModified, validatorURL := p.holding.Texts.Validators()
	return fetcher.Request{
		URL: p.url, ETag: etag, LastModified: lastModified, ValidatorURL: cmp.Or(validatorURL, p.own), Trail: p.trail(),
		Subscribers: uint64(p.subscribers), Delta: etag != "" && p.holding.Kind == deltas.KindFeed,
	}
}

// beyond returns the next hop of a poll that asked p.url and was redirected.
func (p *poll) beyond(r *result) *hop {
	var trail []string
	moved := ""
	if p.hop != nil {
		trail, moved = p.hop.trail, p.hop.moved
	}
	if r.permanent && (p.hop == nil || moved == p.url) {
		moved = r.location
	}
	return &hop{url: r.location, trail: append(slices.Clip(trail), p.url), moved: moved}
}

// trail returns the URLs that redirected to the poll's.
func (p *poll) trail() []string {
	if p.hop == nil {
		return nil
	}
	return p.hop.trail
}

// movedHere reports that none but permanent redirects led to the URL that is asked.
func (p *poll) movedHere() bool { return p.hop == nil || p.hop.moved == p.url }

// movedTo returns where permanent redirects alone have led the poll.
func (p *poll) movedTo() string {
	if p.hop == nil {
		return ""
	}
	return p.hop.moved
}

// movedSince returns when permanent redirects first led to where they lead now; 0
// where they lead nowhere.
func (p *poll) movedSince() int64 {
	switch to := p.movedTo(); {
	case to == "":
		return 0
	case p.redirect != nil && p.redirect.moved == to:
		return p.redirect.since
	}
	return p.Begun.UnixNano()
}

// asksLearned reports that the poll began at another URL than the channel's.
func (p *poll) asksLearned() bool { return p.redirect != nil && p.redirect.own != "" }

// hasLearned reports that the order names another URL than the channel's. It may be
// that one's turn, while the other fails.
func (p *poll) hasLearned() bool { return p.redirect != nil && p.redirect.ask != "" }

// count notes a poll that ended.
func (m *metrics) count(p *poll, r *result) {
	m.polls[r.outcome].Inc()
	m.lateness.Observe(p.Lateness().Seconds())
	m.hostWait.Observe(float64(p.HostWait) / 1e9)
}

// kindOf returns what a poll that ended counts as.
func kindOf(p *poll, r *result) pollKind {
	switch {
	case r.outcome == redirected, r.outcome == deferred:
		return partial
	case p.first:
		return firstPoll
	}
	return byPlan
}
