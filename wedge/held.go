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

// holdings are the current versions of channels that this node holds: it hands them to
// nodes that come to poll, and asks other nodes for those that its engine lacks.
type holdings struct {
	config  Config
	metrics *metrics
	engine  Engine        // set by Poller.Start
	bases   *contents     // that this node's owner saw last
	reports *reportServer // of this node's owner; set before the engine runs

	mu struct {
		sync.Mutex
		wanted []want
	}
	wake chan struct{} // holds a token when contents are wanted
}

// want is a channel whose current version another node may hold.
type want struct {
	id     channel.ID
	holder string
	once   bool // an answer without it is the last
	tries  int  // so far
}

// newWant is what an order says that a node may hold. The owner of a channel without other pollers
// is asked once: it has what it saw last, or has nothing, as of all channels after a restore.
func newWant(order *engine.Order, owner string) want {
	return want{id: order.Channel, holder: order.Holder, once: order.Holder == owner && order.Width == 1}
}

const (
	mostTries    = 3 // a node that is named has perhaps just found the version, or is named wrongly
	betweenTries = time.Second
	mostWanted   = 256     // channels of one request
	mostHanded   = 1 << 20 // bytes of contents from which on an answer is sent
)

// add has nodes asked for channels of which orders say that these hold them.
func (h *holdings) add(wanted ...want) {
	if len(wanted) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.wanted = append(h.mu.wanted, wanted...)
	signal(h.wake)
}

// run asks other nodes for what is wanted, until ctx is done.
func (h *holdings) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		left := h.fetchSome(ctx)
		if len(left) == 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(betweenTries):
		}
		h.add(left...)
	}
}

// fetchSome asks for what is wanted now, all nodes side by side, and returns what to ask
// for again.
func (h *holdings) fetchSome(ctx context.Context) (left []want) {
	h.mu.Lock()
	all := h.mu.wanted
	h.mu.wanted = nil
	h.mu.Unlock()
	by := make(map[string][]want)
	for _, w := range all {
		if h.engine.Lacks(w.id) {
			by[w.holder] = append(by[w.holder], w)
		}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for node, wanted := range by {
		asking.Go(func() {
			rest := h.fetchFrom(ctx, node, wanted)
			mu.Lock()
			defer mu.Unlock()
			left = append(left, rest...)
		})
	}
	asking.Wait()
	return left
}

// fetchFrom asks a node for channels, and returns those to ask for again.
func (h *holdings) fetchFrom(ctx context.Context, node string, wanted []want) (left []want) {
	for len(wanted) > 0 {
		some := wanted[:min(len(wanted), mostWanted)]
		looked, err := h.fetchOnce(ctx, node, some)
		if err != nil {
			h.config.Logger.Debug("a node does not say what it holds", "node", node, "error", err)
			looked = len(some)
		}
		for _, w := range some[:looked] {
			w.tries++
			switch {
			case !h.engine.Lacks(w.id):
				h.metrics.contents.WithLabelValues(contentTaken).Inc()
			case w.tries == mostTries, w.once && err == nil:
				h.metrics.contents.WithLabelValues(contentMissing).Inc()
			default:
				left = append(left, w)
			}
		}
		wanted = wanted[looked:]
	}
	return left
}

// fetchOnce asks a node once, and returns for how many of the channels, from the first
// on, it has looked.
func (h *holdings) fetchOnce(ctx context.Context, node string, some []want) (looked int, err error) {
	asked := new(wire.Wanted)
	for i := range some {
		asked.Channels = append(asked.Channels, some[i].id[:])
	}
	reply, err := h.ask(ctx, node, asked)
	if err != nil {
		return 0, err
	}
	for _, m := range reply.GetHeld() {
		news, err := h.decode(m)
		if err != nil {
			return 0, err
		}
		h.engine.Learn(news)
	}
	if looked = int(reply.GetLooked()); looked < 1 || looked > len(some) {
		return 0, fmt.Errorf("it has looked at %d channels of %d", looked, len(some))
	}
	return looked, nil
}

// ask asks a node, which may be this one: its owner may hold what its engine does not.
func (h *holdings) ask(ctx context.Context, node string, asked *wire.Wanted) (*wire.Reply, error) {
	if node == h.config.Self {
		reply := new(wire.Reply)
		return reply, h.hand(asked, reply)
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return callNode(ctx, h.config, node, &wire.Request{Of: &wire.Request_Wanted{Wanted: asked}})
}

func (h *holdings) decode(m *wire.News) (news engine.News, err error) {
	if news, err = (&batch{Session: Session{Range: allBuckets}}).decodeNews(m); err != nil {
		return news, err
	}
	news.Content, err = h.bases.packer.Unpack(m.GetContent())
	return news, checkContent(news.Content, news.Hash, err)
}

// hand answers with what this node holds of channels.
func (h *holdings) hand(asked *wire.Wanted, reply *wire.Reply) error {
	bytes := 0
	for _, id := range asked.GetChannels() {
		if bytes >= mostHanded {
			break
		}
		m, err := h.held(id)
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
func (h *holdings) held(bytes []byte) (*wire.News, error) {
	id, err := (&batch{Session: Session{Range: allBuckets}}).decodeID(bytes)
	if err != nil {
		return nil, err
	}
	if news, ok := h.engine.Held(id); ok {
		m := encodeNews(&news)
		m.Content = h.bases.packer.Append(nil, news.Content)
		return m, nil
	}
	return h.reports.held(id), nil
}
