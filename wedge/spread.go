package wedge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// News for more pollers than the fan-out go along a tree: the owner sends them to as many
// as the fan-out says, and each of these passes them on to its part of the others in the
// same way. With w pollers and a fan-out of f it has ⌈log(w(f−1)+1)/log f⌉ levels, and no
// node sends more than f messages.

// spreadWithin bounds how long news take through a tree.
const spreadWithin = 30 * time.Second

// mostSpread is how many nodes one message may name.
const mostSpread = 4096

// tell tells the other pollers of a channel what one's report has led to.
func (o *Owner) tell(from string, report *engine.Report, answer engine.Answer) {
	if answer.Ended || answer.Version != report.BaseVersion && answer.Version != report.BaseVersion+1 {
		return
	}
	o.mu.Lock()
	alone := !slices.ContainsFunc(o.mu.seats.get(report.Channel), func(node string) bool { return node != from })
	o.mu.Unlock()
	if alone {
		return
	}
	news := engine.News{Channel: report.Channel, Incarnation: report.Incarnation, Version: answer.Version, Hash: answer.Hash, Held: answer.Held}
	if report.Base != nil && report.Core != nil && report.Core.Hash == answer.Hash {
		news.Base, news.Shown, news.Patch = report.Base.Hash, report.Shown, o.reports.patch(report, answer)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.mu.led.At(report.Channel.Bucket())
	if l == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(o.mu.seats.get(report.Channel)), func(node string) bool { return node == from })
	o.tellAll(l, &news, others)
}

// tellSpare tells all pollers of a channel until when its origin wants to be spared: also the
// one that was asked, for which that changes nothing.
func (o *Owner) tellSpare(s engine.Spare) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.mu.led.At(s.Channel.Bucket())
	if l == nil {
		return
	}
	told := make(parts)
	for _, node := range o.mu.seats.get(s.Channel) {
		told.add(node, s)
	}
	o.send(map[*lead]parts{l: told})
}

// tellAll tells nodes news of a channel: directly, in the order of what else they are
// told, as many as the fan-out; more along a tree. o.mu is held.
func (o *Owner) tellAll(l *lead, news *engine.News, nodes []string) {
	self := slices.Contains(nodes, o.config.Self)
	far := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return node == o.config.Self })
	told := make(parts)
	if self {
		told.add(o.config.Self, *news)
	}
	if len(far) > o.config.Fanout {
		o.spread(l, news, far)
	} else {
		o.metrics.news.WithLabelValues(newsDirect).Add(float64(len(far)))
		for _, node := range far {
			told.add(node, *news)
		}
	}
	o.send(map[*lead]parts{l: told})
}

// spread has the pollers of a channel on other nodes told of news along a tree. o.mu is
// held.
func (o *Owner) spread(l *lead, news *engine.News, nodes []string) {
	if o.mu.stopped {
		return
	}
	o.metrics.news.WithLabelValues(newsTree).Add(float64(len(nodes)))
	m := &wire.Spread{Session: l.session(l.sequence).encode(), News: encodeNews(news)}
	o.running.Go(func() {
		ctx, cancel := context.WithTimeout(o.ctx, spreadWithin)
		defer cancel()
		o.config.spread(ctx, m, nodes)
	})
}

// spread sends news to nodes, whose order decides who passes them on to whom, and returns
// when all that can be reached have them.
func (c *Config) spread(ctx context.Context, m *wire.Spread, nodes []string) {
	var sending sync.WaitGroup
	for _, branch := range branches(nodes, c.Fanout) {
		sending.Go(func() { c.spreadTo(ctx, m, branch) })
	}
	sending.Wait()
}

// branches parts nodes into as many parts as the fan-out says, of which no two differ by
// more than one node.
func branches(nodes []string, fanout int) (parts [][]string) {
	for n := min(fanout, len(nodes)); n > 0; n-- {
		size := (len(nodes) + n - 1) / n
		parts = append(parts, nodes[:size])
		nodes = nodes[size:]
	}
	return parts
}

// spreadTo has the first node of a branch pass news on to the others. Where it does not
// answer, the next one has to.
func (c *Config) spreadTo(ctx context.Context, m *wire.Spread, branch []string) {
	for ; len(branch) > 0 && ctx.Err() == nil; branch = branch[1:] {
		told := &wire.Spread{Session: m.Session, News: m.News, Level: m.Level + 1, To: branch[1:]}
		_, err := callNode(ctx, *c, branch[0], &wire.Request{Of: &wire.Request_Spread{Spread: told}})
		if err == nil {
			return
		}
		c.Logger.Debug("a poller does not take news", "node", branch[0], "error", err)
	}
}

// pass accepts news that another node passes on, and passes them on in its turn. News of
// a term that this poller does not obey go no further.
func (p *Poller) pass(ctx context.Context, m *wire.Spread, reply *wire.Reply) error {
	s, err := decodeSession(m.GetSession())
	if err != nil {
		return fmt.Errorf("decode news: %w", err)
	}
	if len(m.GetTo()) > mostSpread {
		return fmt.Errorf("decode news: for %d nodes, at most %d are taken", len(m.GetTo()), mostSpread)
	}
	news, err := (&batch{Session: s}).decodeNews(m.GetNews())
	if err != nil {
		return fmt.Errorf("decode news: %w", err)
	}
	if p.hear(s, news) == outdated {
		reply.Older = append(reply.Older, s.ID)
		return nil
	}
	p.metrics.levels.Observe(float64(m.GetLevel()))
	p.config.spread(ctx, m, m.GetTo())
	return nil
}

// hear notes news for the engine.
func (p *Poller) hear(s Session, news engine.News) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.ranges.At(s.From)
	switch {
	case r == nil || r.Term < s.Term:
		return again // who polls nothing of the range yet passes news on all the same
	case s.Term < r.Term:
		return outdated
	}
	p.mu.news = append(p.mu.news, news)
	signal(p.learn)
	return taken
}
