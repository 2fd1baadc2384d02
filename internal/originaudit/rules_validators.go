package originaudit

import (
	"slices"
)

// delivery is a pair of validators that an answer gave.
type delivery struct {
	Pair
	doubtful bool // the reader may rightly have kept what it had before
	lost     bool // it may have lost all
}

// checkValidators finds a request that does not carry what the latest content of
// its URL gave, whole and byte for byte.
func (t *trial) checkValidators(e *Exchange, key pageKey, p *page) {
	tags, dates := e.Fields.Values("If-None-Match"), e.Fields.Values("If-Modified-Since")
	if len(tags) > 1 || len(dates) > 1 {
		t.find(e, Altered, "If-None-Match %q, If-Modified-Since %q: want one of each", tags, dates)
		return
	}
	sent := Pair{e.Fields.Get("If-None-Match"), e.Fields.Get("If-Modified-Since")}
	accepted := t.accepted(key, p)
	if slices.Contains(accepted, sent) {
		return
	}
	t.find(e, wrongPair(sent, accepted[0], t.given[key.url]), "sent %q, want %q", sent, accepted)
}

// accepted returns the pairs that a request may carry, the one that it should
// carry first. It has one at least.
func (t *trial) accepted(key pageKey, p *page) (pairs []Pair) {
	none := Pair{}
	if len(p.pairs) == 0 {
		// Who followed a redirect here for long may come directly one day.
		if given := t.given[key.url]; key.url == key.root && len(given) > 0 {
			return append([]Pair{none}, given...)
		}
		return []Pair{none}
	}
	settled := false
	for i := len(p.pairs) - 1; i >= 0 && !settled; i-- {
		d := p.pairs[i]
		pairs = append(pairs, d.Pair)
		settled = !d.doubtful && !d.lost
		if d.lost {
			pairs = append(pairs, none)
		}
	}
	// Validators of one URL mean nothing to another: a reader that was led elsewhere
	// meanwhile has none left for this one.
	elsewhere := func(url string) bool { return url != key.url }
	if !settled || slices.ContainsFunc(t.source[key.root], elsewhere) {
		pairs = append(pairs, none)
	}
	return pairs
}

// wrongPair names what is wrong with validators that are not as wanted, given all
// that the URL ever gave.
func wrongPair(sent, want Pair, given []Pair) Kind {
	tagGiven := slices.ContainsFunc(given, func(p Pair) bool { return p.ETag == sent.ETag })
	dateGiven := slices.ContainsFunc(given, func(p Pair) bool { return p.LastModified == sent.LastModified })
	switch {
	case sent == Pair{}:
		return Unconditional
	case sent.ETag != "" && want.ETag == "" && !tagGiven, sent.LastModified != "" && want.LastModified == "" && !dateGiven:
		return Invented
	case slices.Contains(given, sent):
		return Stale
	case sent.ETag == "" && sent.LastModified == want.LastModified, sent.LastModified == "" && sent.ETag == want.ETag:
		return HalfPair
	case tagGiven && dateGiven:
		return MixedPair
	}
	return Altered
}

// learnPair notes the validators that an answer gave. 200 gives a pair, which
// replaces the one before as a whole; so does a delta (226). A 304 updates the date
// of what it confirms (RFC 9111, section 4.3.4), unless it names another ETag.
func (t *trial) learnPair(e *Exchange, key pageKey, p *page) {
	said, lost := &e.Said, t.killedAt(e, t.policy.Settle)
	switch {
	case said.Status >= 200 && said.Status < 300:
		p.pairs = append(p.pairs, delivery{said.pair(), said.Doubtful, lost})
		t.given[key.url] = append(t.given[key.url], said.pair())
		if !said.Doubtful {
			t.source[key.root] = nil
		}
		if !slices.Contains(t.source[key.root], key.url) {
			t.source[key.root] = append(t.source[key.root], key.url)
		}
	case said.Status == 304 && len(p.pairs) > 0:
		kept, now := p.pairs[len(p.pairs)-1], said.pair()
		if now.LastModified == "" || now.LastModified == kept.LastModified || now.ETag != "" && now.ETag != kept.ETag {
			return
		}
		kept.LastModified, kept.lost = now.LastModified, lost
		p.pairs = append(p.pairs, kept)
		t.given[key.url] = append(t.given[key.url], kept.Pair)
	}
}
