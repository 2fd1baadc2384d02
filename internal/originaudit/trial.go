package originaudit

import (
	"fmt"
	"slices"
	"time"
)

// trial goes through a log in the order of time, and keeps what the reader has
// been told so far.
type trial struct {
	policy Policy
	hosts  map[string]*host
	pages  map[pageKey]*page
	keys   map[*Exchange]pageKey // of requests that have arrived
	known  map[string]bool       // URLs that redirects led to
	given  map[string][]Pair     // what a URL has given, to whomever
	source map[string][]string   // by root: the URL that gave it content last, and those that perhaps did since
	owed   map[string][]ticket   // by URL: hops that redirects asked for
	found  []Violation
}

// pageKey is a URL as one reader of it sees it: a reader sent to a URL by a redirect
// reads it on behalf of the URL where the redirects began, the root, at that one's
// pace. Root is the URL itself when it is asked directly.
type pageKey struct{ url, root string }

// ticket is a hop that a redirect asked for.
type ticket struct {
	root string
	at   time.Time
}

// hopWithin is how long a reader may take to follow a redirect.
const hopWithin = time.Minute

func newTrial(policy Policy) *trial {
	return &trial{
		policy: policy,
		hosts:  make(map[string]*host),
		pages:  make(map[pageKey]*page),
		keys:   make(map[*Exchange]pageKey),
		known:  make(map[string]bool),
		given:  make(map[string][]Pair),
		source: make(map[string][]string),
		owed:   make(map[string][]ticket),
	}
}

func (t *trial) find(e *Exchange, kind Kind, format string, args ...any) {
	t.found = append(t.found, Violation{Kind: kind, URL: e.URL(), At: e.Arrived, Detail: fmt.Sprintf(format, args...)})
}

// hear audits a request by what was said before it.
func (t *trial) hear(e *Exchange) {
	key := pageKey{e.URL(), t.rootOf(e)}
	t.keys[e] = key
	h, p := t.host(e.Host), t.page(key)
	t.checkRequest(e)
	if known := t.policy.Published; known != nil && !known(key.url) && !t.known[key.url] {
		t.find(e, Unpublished, "no subscription, link or redirect names it")
	}
	t.checkValidators(e, key, p)
	t.checkHost(e, h)
	t.checkPage(e, key, p)
	p.before, h.asked = e, e.Arrived
	h.under = append(h.under, e)
}

// rootOf returns the URL that a request is made for, and uses up the redirect that
// led to it.
func (t *trial) rootOf(e *Exchange) string {
	url := e.URL()
	tickets := slices.DeleteFunc(t.owed[url], func(k ticket) bool { return e.Arrived.Sub(k.at) > hopWithin })
	if len(tickets) == 0 {
		delete(t.owed, url)
		return url
	}
	t.owed[url] = tickets[1:]
	return tickets[0].root
}

// learn records what the reader was told.
func (t *trial) learn(e *Exchange) {
	key := t.keys[e]
	delete(t.keys, e)
	h, p := t.host(e.Host), t.page(key)
	t.learnPair(e, key, p)
	t.learnRedirect(e, key, p)
	if !t.killedAt(e, t.policy.Slack) {
		t.learnRest(e, h, p)
	}
	if !t.killedAt(e, t.policy.Settle) {
		p.learnWords(e)
	}
	switch {
	case e.Said.well():
		p.failures, p.ok = 0, true
	case t.killedAt(e, t.policy.Slack): // the poller that would count it was killed
	case e.Said.Status == 0 || e.Said.Status >= 400:
		p.failures++
		p.ok = false
	}
}

// learnRedirect notes where an answer led.
func (t *trial) learnRedirect(e *Exchange, key pageKey, p *page) {
	target := e.Said.location(key.url)
	if target != "" {
		t.known[target] = true
		t.owed[target] = append(t.owed[target], ticket{key.root, e.Answered})
	}
	switch status := e.Said.Status; {
	case status == 301 || status == 308:
		if p.moved.target != target {
			p.moved = move{target, e.Answered}
		}
	case status < 400 && status != 0:
		p.moved = move{}
	}
}

// killedAt reports whether the reader was killed before or soon after an answer,
// so that it may have lost it.
func (t *trial) killedAt(e *Exchange, soon time.Duration) bool {
	return slices.ContainsFunc(t.policy.Kills, func(kill time.Time) bool {
		// What left just before the kill arrives just after it.
		return !e.Arrived.After(kill.Add(t.policy.Slack)) && !kill.After(e.Answered.Add(soon))
	})
}

func (t *trial) host(name string) *host {
	if t.hosts[name] == nil {
		t.hosts[name] = &host{shaky: make(map[string]bool)}
	}
	return t.hosts[name]
}

func (t *trial) page(key pageKey) *page {
	if t.pages[key] == nil {
		t.pages[key] = new(page)
	}
	return t.pages[key]
}

// span is a time in which something holds, since an answer said so.
type span struct {
	since, until time.Time
	why          string
}

// covers reports whether a request came within the span, and not merely at its
// edges.
func (s span) covers(e *Exchange, slack time.Duration) bool {
	return e.Arrived.After(s.since.Add(slack)) && e.Arrived.Add(slack).Before(s.until)
}
