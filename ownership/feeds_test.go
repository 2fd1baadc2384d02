package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// feedLoad is channels with updates, publishers that commit them at whichever node leads,
// and readers that follow each range from node to node, as streams do.
type feedLoad struct {
	w        *town
	channels []channel.ID
	readers  []*follower

	mu    sync.Mutex
	acked map[channel.ID]uint64 // the newest version that was acknowledged
}

// follower is a reader of one range, and of what that is split into.
type follower struct {
	w     *town
	parts []*feedPart
}

type feedPart struct {
	rng   channel.Range
	after channel.Cursor
	got   []channel.Update
}

const (
	publishers      = 2
	followersARange = 2
)

func newFeedLoad(w *town) *feedLoad {
	f := &feedLoad{w: w, acked: make(map[channel.ID]uint64)}
	for i := range 8 {
		x := wish(fmt.Sprintf("http://feeds.example/%d", i), "", stream)
		eventually(w.t, "a channel with updates", func() error {
			ctx, cancel := soon()
			defer cancel()
			return w.nodes[0].store.Subscribe(ctx, []NewSubscription{x})[0].Err
		})
		f.channels = append(f.channels, x.Channel)
	}
	for _, r := range w.nodes[0].store.Table() {
		for range followersARange {
			f.readers = append(f.readers, &follower{w: w, parts: []*feedPart{{rng: r}}})
		}
	}
	return f
}

func (f *feedLoad) start(ctx context.Context, running *sync.WaitGroup, seed uint64) {
	for i := range publishers {
		running.Go(func() { f.publish(ctx, rand.New(rand.NewPCG(seed, 1000+uint64(i)))) })
	}
	for i, r := range f.readers {
		running.Go(func() { r.follow(ctx, rand.New(rand.NewPCG(seed, 2000+uint64(i)))) })
	}
}

// publish commits the next versions of channels until ctx ends.
func (f *feedLoad) publish(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(random.IntN(10))*time.Millisecond)
		id := f.channels[random.IntN(len(f.channels))]
		leader := f.w.leading(id.Bucket())
		if leader == nil {
			continue
		}
		if s := leader.live.Load(); s != nil {
			f.commit(s, id)
		}
	}
}

func (f *feedLoad) commit(s *Store, id channel.ID) {
	ctx, cancel := soon()
	defer cancel()
	c, err := s.Channel(id)
	if err == nil {
		err = s.Commit(ctx, nextCommit(c))
	}
	switch {
	case err == nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.acked[id] = max(f.acked[id], c.Version+1)
	case !errors.Is(err, ErrStale) && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrClosed):
		f.w.t.Errorf("commit of %s: %v", id, err)
	}
}

// follow reads what is new until ctx ends, each time from another node.
func (r *follower) follow(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		n := r.w.nodes[random.IntN(len(r.w.nodes))]
		s := n.live.Load()
		if s == nil {
			pause(ctx, 10*time.Millisecond)
			continue
		}
		part := r.parts[random.IntN(len(r.parts))]
		changed := s.Changed(part.rng)
		s.Demand(part.rng, uint64(n.now().UnixMicro()))
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		}
		if err := part.read(s); err != nil && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrClosed) {
			r.w.t.Errorf("read range %d at %s: %v", part.rng.ID, n.name, err)
		}
		r.divide(part, s.Table())
	}
}

// divide goes on with the ranges that a part was split into, if it was.
func (r *follower) divide(part *feedPart, table []channel.Range) {
	var parts []*feedPart
	for _, has := range table {
		if has == part.rng || !part.rng.Has(has.From) || !part.rng.Has(has.To) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(part.got), func(u channel.Update) bool { return !has.Has(u.Channel.Bucket()) })
		parts = append(parts, &feedPart{rng: has, after: part.after, got: of})
	}
	if len(parts) > 0 {
		r.parts = append(slices.DeleteFunc(r.parts, func(p *feedPart) bool { return p == part }), parts...)
	}
}

const followPage = 100

// read reads one page.
func (r *feedPart) read(s *Store) error {
	ctx, cancel := soon()
	defer cancel()
	page, closed, more, err := s.Since(ctx, r.rng, r.after, followPage)
	if err != nil {
		return err
	}
	r.got = append(r.got, page...)
	switch end := channel.EndOf(closed); {
	case more:
		r.after = page[len(page)-1].Cursor()
	case r.after.Less(end):
		r.after = end
	}
	return nil
}

// settle compares what readers have got with what there is.
func (f *feedLoad) settle() {
	f.w.t.Helper()
	defer f.w.expect(2*time.Minute, "judge of the streams")()
	var there []channel.Update
	for _, r := range f.w.nodes[0].store.Table() {
		whole := &feedPart{rng: r}
		eventually(f.w.t, "all updates", func() error {
			for {
				before := len(whole.got)
				if err := whole.read(f.w.nodes[0].store); err != nil || len(whole.got) < before+followPage {
					return err
				}
			}
		})
		there = append(there, whole.got...)
	}
	updates := 0
	for _, r := range f.readers {
		for _, part := range r.parts {
			updates += len(part.got)
			of := slices.DeleteFunc(slices.Clone(there), func(u channel.Update) bool { return !part.rng.Has(u.Channel.Bucket()) })
			slices.SortFunc(of, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
			part.compare(f.w.t, of)
		}
	}
	newest := make(map[channel.ID]uint64)
	for _, u := range there {
		newest[u.Channel] = max(newest[u.Channel], u.Version)
	}
	for id, version := range f.acked {
		if version > max(newest[id], 1) { // the first has no update
			f.w.t.Errorf("version %d of %s was acknowledged and is lost", version, id)
		}
	}
	f.w.logf("%d updates read by %d readers", updates, len(f.readers))
	if updates == 0 {
		f.w.t.Error("no reader has got an update")
	}
}

// compare wants a reader to have got all updates up to where it is, in order, once.
func (r *feedPart) compare(t *testing.T, there []channel.Update) {
	i := 0
	for _, u := range there {
		if r.after.Less(u.Cursor()) {
			break
		}
		if i < len(r.got) && r.got[i].Cursor() == u.Cursor() && r.got[i].Version == u.Version && r.got[i].Channel == u.Channel {
			i++
			continue
		}
		t.Errorf("range %d: version %d of %s, stamp %d, was missed by a reader that was told of all up to %d",
			r.rng.ID, u.Version, u.Channel, u.Stamp, r.after.Stamp)
		return
	}
	if i < len(r.got) {
		u := r.got[i]
		t.Errorf("range %d: version %d of %s, stamp %d, was read and is not there, or was read twice", r.rng.ID, u.Version, u.Channel, u.Stamp)
	}
}
