package ownership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Streams follow each range by itself. A range is closed up to a stamp when everything
// up to there has been applied, and nothing more will come:
//
//   - with one replica, by this node's clock: no other node will ever give a time;
//   - with several, by the log alone: times rise with each command, so that one that has
//     been applied closes all before it, whoever leads next. A range without commands is
//     closed further by a Tick, which costs a commit: only when a stream waits for it.

// A follower applies an entry only when raft tells it that it is committed, which takes
// seconds in a quiet range. So this node asks the leaders of the ranges that it does
// not lead.

// feeds tell streams of the updates of each range, and up to where it is closed.
type feeds struct {
	*router
	ask struct {
		since Call[sinceQuery, []byte]
		news  Call[uint64, uint64]
		tick  Call[uint64, struct{}]
	}
}

// sinceQuery asks for a page of updates of a range.
type sinceQuery struct {
	After  channel.Cursor
	Limit  int
	Form   int            // of the answer: one of those in page.go
	Chosen []channel.ID   `json:",omitempty"` // if not nil, the page is of these, behind Behind; nodes before 2026-11-26 do not know it
	Behind channel.Cursor `json:",omitzero"`
}

func newFeeds(rt *router) *feeds {
	f := &feeds{router: rt}
	f.ask.since = newCall(rt, "since", func(_ context.Context, r channel.Range, q sinceQuery) ([]byte, error) {
		g := f.of(r.From).local()
		if g == nil {
			return nil, errElsewhere
		}
		page, err := f.sinceHere(g, r, q)
		if err != nil {
			return nil, err
		}
		return page.encode(q.Form)
	})
	f.ask.news = newCall(rt, "news", func(ctx context.Context, r channel.Range, known uint64) (uint64, error) {
		g := f.of(r.From).local()
		if g == nil {
			return 0, errElsewhere
		}
		return f.news(ctx, g, r, known)
	}).Within(newsWithin + answerWithin)
	f.ask.tick = newCall(rt, "tick", func(ctx context.Context, r channel.Range, stamp uint64) (struct{}, error) {
		g := f.of(r.From).local()
		if g == nil {
			return struct{}{}, errElsewhere
		}
		return struct{}{}, f.tick(ctx, g, stamp)
	})
	return f
}

// ClosedIn returns the stamp up to which a range is closed, as far as this node knows.
// It never falls. Of a range that was split since, it is what all its parts have closed.
func (f *feeds) ClosedIn(of channel.Range) uint64 {
	rs := f.routes.Load()
	r := rs.of[of.From]
	closed := f.closedIn(r)
	for r.To < of.To {
		r = rs.of[r.To+1]
		closed = min(closed, f.closedIn(r))
	}
	return closed
}

func (f *feeds) closedIn(r *route) uint64 {
	if g := r.local(); g != nil {
		closed := g.state.Time()
		if f.net == nil {
			closed = g.clock.closedTime(f.newest())
		}
		if g.state.Range() == r.Range { // after closed was read, see there
			r.watch.learn(closed)
		}
	}
	return r.watch.closed.Load()
}

// current returns the route of a range, or errDivided if that has other buckets now.
func (f *feeds) current(of channel.Range) (*route, error) {
	if r := f.of(of.From); r.Range == of {
		return r, nil
	}
	return nil, errDivided
}

// Since returns up to limit updates of a range behind a cursor, without their patches, and
// notices that channels are gone, in the order of (stamp, bucket), and the stamp up to
// which the range is closed. Unless there are more, which a megabyte of them may leave for
// the next page, they are all up to that stamp. ErrTooOld says that updates after the
// cursor are no longer kept, ErrUnavailable that no node with the range answers, or that it
// has other buckets now.
func (f *feeds) Since(ctx context.Context, of channel.Range, after channel.Cursor, limit int) (updates []channel.Update, closed uint64, more bool, err error) {
	page, err := f.since(ctx, of, sinceQuery{After: after, Limit: limit, Form: formProto})
	return page.Updates, page.Closed, page.More, err
}

// since reads a page where it is certainly whole: here, or at the leader of the range.
func (f *feeds) since(ctx context.Context, of channel.Range, q sinceQuery) (sincePage, error) {
	r, err := f.current(of)
	if err != nil {
		return sincePage{}, err
	}
	if g := r.serving(); g != nil || f.net == nil {
		return f.sinceHere(cmp.Or(g, r.local()), of, q)
	}
	page, err := f.askSince(ctx, r, q)
	if g := r.local(); g != nil && errors.Is(err, ErrUnavailable) {
		return f.sinceHere(g, of, q)
	}
	if err == nil {
		r.watch.learn(page.Closed)
	}
	return page, err
}

// askSince asks the leader of a range.
func (f *feeds) askSince(ctx context.Context, r *route, q sinceQuery) (sincePage, error) {
	answer, err := f.ask.since.at(ctx, r, q)
	if err != nil {
		return sincePage{}, err
	}
	page, err := decodePage(answer)
	if err != nil {
		return sincePage{}, fmt.Errorf("range %d: %w: page of updates: %w", r.ID, ErrUnavailable, err)
	}
	return page, nil
}

// sinceHere reads this node's replica, which is closed as far as it has applied its log. The
// error is ErrUnavailable if it has left this node or was split, or its state was taken out, and
// its updates perhaps with it.
func (f *feeds) sinceHere(g *group, of channel.Range, q sinceQuery) (sincePage, error) {
	if g == nil {
		return sincePage{}, fmt.Errorf("range %d: %w: it is about to begin", of.ID, ErrUnavailable)
	}
	page, err := f.readSince(g, q)
	if err == nil && f.of(g.all.From).local() != g {
		err = fmt.Errorf("range %d: %w: its replica has left this node", g.id, ErrUnavailable)
	}
	if err == nil && g.state.Range() != of {
		err = errDivided
	}
	if err == nil {
		err = g.fsm.gone()
	}
	if err != nil {
		return sincePage{}, err
	}
	return page, nil
}

func (f *feeds) readSince(g *group, q sinceQuery) (page sincePage, err error) {
	if page.Closed = g.state.Time(); f.net == nil { // before the read: what it closes, that sees
		page.Closed = g.clock.closedTime(f.newest())
	}
	if q.Chosen != nil {
		page.Chosen = true
		page.Kept, err = g.state.Chosen(q.Chosen, q.Behind, page.Closed, q.Limit)
		return page, err
	}
	if q.After == channel.EndOf(q.After.Stamp) && q.After.Stamp >= g.state.NewestStamp() {
		return page, nil // as nearly always
	}
	ok := false
	if page.Updates, page.More, ok = g.state.News(q.After, page.Closed, q.Limit); ok {
		return page, nil
	}
	page.Updates, page.More, err = g.state.Since(q.After, page.Closed, q.Limit)
	return page, err
}

// Changed returns a channel that is closed when a range may have more updates than now,
// or is closed up to a stamp that was demanded.
func (f *feeds) Changed(of channel.Range) <-chan struct{} {
	r, err := f.current(of)
	if err != nil {
		now := make(chan struct{})
		close(now)
		return now
	}
	if g := cmp.Or(r.serving(), r.local()); g != nil && (f.net == nil || g.serving.Load()) {
		return g.clock.changed.wait()
	}
	changed := r.watch.changed.wait()
	if f.net != nil {
		f.follow(r)
	}
	return changed
}

// watch is what this node knows of a range that another one leads.
type watch struct {
	changed bell
	closed  atomic.Uint64
	running atomic.Bool // the leader is being asked
}

// learn notes up to where the range is closed.
func (w *watch) learn(closed uint64) {
	for have := w.closed.Load(); have < closed && !w.closed.CompareAndSwap(have, closed); have = w.closed.Load() {
	}
}

// newsWithin is how long a leader holds the question for news, newsRetry the pause after
// one that failed.
const (
	newsWithin = 10 * time.Second
	newsRetry  = 100 * time.Millisecond
)

// follow asks the leader of a range for news, unless that is under way.
func (f *feeds) follow(r *route) {
	if !r.watch.running.CompareAndSwap(false, true) {
		return
	}
	newest := r.watch.closed.Load()
	go func() { // ends with the question
		closed, err := f.ask.news.at(f.running, r, newest)
		if err != nil {
			select {
			case <-time.After(newsRetry):
			case <-f.running.Done():
			}
		}
		r.watch.learn(closed)
		r.watch.running.Store(false)
		r.watch.changed.ring()
	}()
}

// news waits until the range that this node leads has an update behind a stamp, or is
// closed to one behind it that was demanded, and returns up to where it is closed.
func (f *feeds) news(ctx context.Context, g *group, of channel.Range, known uint64) (closed uint64, err error) {
	deadline := time.NewTimer(newsWithin)
	defer deadline.Stop()
	for {
		changed := g.clock.changed.wait()
		closed := g.state.Time()
		if g.state.Range() != of {
			return 0, errElsewhere
		}
		if demanded := g.demanded.Load(); g.state.NewestStamp() > known || demanded > known && closed >= demanded || !g.serving.Load() {
			return closed, nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			return closed, nil
		case <-ctx.Done():
			return closed, context.Cause(ctx)
		}
	}
}

// Demand asks a range to be closed up to a stamp soon. It does not wait: Changed says
// when that has come about.
func (f *feeds) Demand(of channel.Range, stamp uint64) {
	r, err := f.current(of)
	if err != nil {
		return
	}
	if f.net == nil {
		if g := r.local(); g != nil && g.clock.closedTime(stamp) >= stamp {
			g.clock.changed.ring()
		}
		return
	}
	if f.closedIn(r) >= stamp || !r.ticking.CompareAndSwap(false, true) {
		return
	}
	go func() { // ends within answerWithin
		defer r.ticking.Store(false)
		if _, err := f.ask.tick.at(f.running, r, stamp); err != nil {
			f.tools.log.Debug("range was not closed for a stream", "range", r.ID, "error", err)
		}
	}()
}

// tick commits a Tick whose time is not before a stamp.
func (f *feeds) tick(ctx context.Context, g *group, stamp uint64) error {
	for have := g.demanded.Load(); have < stamp && !g.demanded.CompareAndSwap(have, stamp); have = g.demanded.Load() {
	}
	if g.state.Time() >= stamp {
		g.clock.changed.ring()
		return nil
	}
	g.clock.reach(stamp)
	content, err := proto.Marshal(&wire.Command{Change: &wire.Command_Tick{Tick: &wire.Tick{}}})
	if err != nil {
		return fmt.Errorf("encode tick: %w", err)
	}
	p, err := f.enqueue(ctx, g, content)
	if err == nil {
		_, err = f.answered(ctx, p)
	}
	return err
}

// newest returns the newest time that any range of this node has given or closed. In a
// cluster of one all ranges advance to it, so that a clock that was set back delays no
// stream.
func (f *feeds) newest() (newest uint64) {
	for _, g := range f.groups() {
		newest = max(newest, g.clock.newest())
	}
	return newest
}
