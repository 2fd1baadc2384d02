package wedge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// A node that comes to poll a channel, after a death or with a higher width, has nothing
// of its current version, which its first poll would fetch in full. So it asks another
// node for the content and for what the origin sent with it, by which that poll asks
// for changes only. The order names that node. The first poll does not wait for it.

// want is a channel whose current version another node may hold.
type want struct {
	id     channel.ID
	holder string
	tries  int // so far
}

const (
	mostTries    = 3 // a node that is named has perhaps just found the version, or is named wrongly
	betweenTries = time.Second
	mostWanted   = 256     // channels of one request
	mostHanded   = 1 << 20 // bytes of contents from which on an answer is sent
)

// fetchAll asks other nodes for what orders have named, until ctx is done.
func (p *Poller) fetchAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.fetch:
		}
		left := p.fetchSome(ctx)
		if len(left) == 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(betweenTries):
		}
		p.mu.Lock()
		p.mu.wanted = append(p.mu.wanted, left...)
		p.mu.Unlock()
		signal(p.fetch)
	}
}

// fetchSome asks for what is wanted now, all nodes side by side, and returns what to ask
// for again.
func (p *Poller) fetchSome(ctx context.Context) (left []want) {
	p.mu.Lock()
	all := p.mu.wanted
	p.mu.wanted = nil
	p.mu.Unlock()
	by := make(map[string][]want)
	for _, w := range all {
		if p.engine.Lacks(w.id) {
			by[w.holder] = append(by[w.holder], w)
		}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for node, wanted := range by {
		asking.Go(func() {
			rest := p.fetchFrom(ctx, node, wanted)
			mu.Lock()
			defer mu.Unlock()
			left = append(left, rest...)
		})
	}
	asking.Wait()
	return left
}

// fetchFrom asks a node for channels, and returns those to ask for again.
func (p *Poller) fetchFrom(ctx context.Context, node string, wanted []want) (left []want) {
	for len(wanted) > 0 {
		some := wanted[:min(len(wanted), mostWanted)]
		looked, err := p.fetchOnce(ctx, node, some)
		if err != nil {
			p.config.Logger.Debug("a node does not say what it holds", "node", node, "error", err)
			looked = len(some)
		}
		for _, w := range some[:looked] {
			if !p.engine.Lacks(w.id) {
				p.metrics.contents.WithLabelValues(contentTaken).Inc()
			} else if w.tries++; w.tries < mostTries {
				left = append(left, w)
			} else {
				p.metrics.contents.WithLabelValues(contentMissing).Inc()
			}
		}
		wanted = wanted[looked:]
	}
	return left
}

// fetchOnce asks a node once, and returns for how many of the channels, from the first
// on, it has looked.
func (p *Poller) fetchOnce(ctx context.Context, node string, some []want) (looked int, err error) {
	asked := new(wire.Wanted)
	for i := range some {
		asked.Channels = append(asked.Channels, some[i].id[:])
	}
	reply, err := p.askHeld(ctx, node, asked)
	if err != nil {
		return 0, err
	}
	for _, m := range reply.GetHeld() {
		news, err := p.decodeHeld(m)
		if err != nil {
			return 0, err
		}
		p.engine.Learn(news)
	}
	if looked = int(reply.GetLooked()); looked < 1 || looked > len(some) {
		return 0, fmt.Errorf("it has looked at %d channels of %d", looked, len(some))
	}
	return looked, nil
}

// askHeld asks a node, which may be this one: its owner may hold what its engine does not.
func (p *Poller) askHeld(ctx context.Context, node string, asked *wire.Wanted) (*wire.Reply, error) {
	if node == p.config.Self {
		reply := new(wire.Reply)
		return reply, p.hand(asked, reply)
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return callNode(ctx, p.config, node, &wire.Request{Of: &wire.Request_Wanted{Wanted: asked}})
}

func (p *Poller) decodeHeld(m *wire.News) (news engine.News, err error) {
	if news, err = (&batch{Session: Session{Range: allBuckets}}).decodeNews(m); err != nil {
		return news, err
	}
	news.Content, err = p.owner.bases.packer.Unpack(m.GetContent())
	return news, checkContent(news.Content, news.Hash, err)
}

// hand answers with what this node holds of channels.
func (p *Poller) hand(asked *wire.Wanted, reply *wire.Reply) error {
	bytes := 0
	for _, id := range asked.GetChannels() {
		if bytes >= mostHanded {
			break
		}
		m, err := p.held(id)
		if err != nil {
			return err
		}
		if m != nil {
			reply.Held = append(reply.Held, m)
			bytes += len(m.Content)
		}
		reply.Looked++
	}
	return nil
}

// held is the current version of a channel, if this node's engine holds it, or if its
// owner saw it last; else nil.
func (p *Poller) held(bytes []byte) (*wire.News, error) {
	id, err := (&batch{Session: Session{Range: allBuckets}}).decodeID(bytes)
	if err != nil {
		return nil, err
	}
	if news, ok := p.engine.Held(id); ok {
		m := encodeNews(&news)
		m.Content = p.owner.bases.packer.Append(nil, news.Content)
		return m, nil
	}
	return p.owner.held(id), nil
}

// held is the current version of a channel that this node owns, if a report of its
// content is kept; else nil.
func (o *Owner) held(id channel.ID) *wire.News {
	if !o.leads(id) {
		return nil
	}
	ch, err := o.store.Channel(id)
	if err != nil {
		return nil
	}
	kept := o.bases.packed(id, ch.Hash)
	if kept == nil {
		return nil
	}
	m := encodeNews(&engine.News{Channel: id, Incarnation: ch.Incarnation, Version: ch.Version, Hash: ch.Hash, Held: ch.Held, Shown: kept.shown})
	m.Content = kept.data
	return m
}
