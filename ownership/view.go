package ownership

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// View reads the whole cluster, whichever nodes have it. Its calls go to the leaders of
// the ranges that they are about and are linearizable for each range: what was
// acknowledged before the call, by any node, is in the answer. A call over several
// ranges reads one after the other.
//
// Besides the errors that each names, a call returns ErrUnavailable when a range that
// it needs has no leader within five seconds.
type View struct{ s *Store }

// View returns a view of the cluster.
func (s *Store) View() View { return View{s} }

// The calls of a view, which the leader of the range runs on its own state.
type viewCalls struct {
	channel       Call[channel.ID, channel.Channel]
	subscription  Call[string, channel.Subscription]
	progress      Call[channel.ID, channel.Progress]
	endpoint      Call[string, channel.Endpoint]
	channels      Call[channelsQuery, []channel.Channel]
	subscriptions Call[subscriptionsQuery, subscriptionsPage]
	updates       Call[updatesQuery, updatesPage]
	counts        Call[struct{}, rangeCounts]
}

type rangeCounts struct{ Channels, Subscriptions uint64 }

type (
	channelsQuery struct {
		After *channel.ID
		Limit int
	}
	subscriptionsQuery struct {
		SubscriptionQuery
		Begin []string // if not nil, the page is of where these begin; nodes before 2026-11-26 do not know it
		Exist bool     // only whether they are missing
	}
	subscriptionsPage struct {
		Page       []channel.Subscription
		Next       string
		Beginnings []channel.Beginning
	}
	updatesQuery struct {
		Channel channel.ID
		After   uint64
		Limit   int
		Cut     bool // the page may end after about a MiB; nodes before 2026-11-28 do not ask for that
	}
	updatesPage struct {
		Updates []channel.Update // without patches
		Gap     *channel.Gap
		More    bool // the page was cut
	}
)

func newViewCalls(s *Store) viewCalls {
	return viewCalls{
		channel: NewCall(s, "channel", func(_ context.Context, _ channel.Range, id channel.ID) (channel.Channel, error) { return s.Channel(id) }),
		subscription: NewCall(s, "subscription", func(_ context.Context, _ channel.Range, id string) (channel.Subscription, error) {
			return s.Subscription(id)
		}),
		progress: NewCall(s, "progress", func(_ context.Context, _ channel.Range, id channel.ID) (channel.Progress, error) {
			return s.Progress(id)
		}),
		endpoint: NewCall(s, "endpoint", func(_ context.Context, _ channel.Range, url string) (channel.Endpoint, error) { return s.Endpoint(url) }),
		channels: NewCall(s, "channels", func(_ context.Context, r channel.Range, q channelsQuery) ([]channel.Channel, error) {
			return s.ChannelsIn(r, q.After, q.Limit)
		}),
		subscriptions: NewCall(s, "subscriptions", func(ctx context.Context, r channel.Range, q subscriptionsQuery) (page subscriptionsPage, err error) {
			if q.Begin != nil {
				page.Beginnings, err = s.Beginnings(ctx, q.Begin, q.Exist)
				return page, err
			}
			page.Page, page.Next, err = s.SubscriptionsIn(r, q.SubscriptionQuery)
			return page, err
		}),
		updates: NewCall(s, "updates", func(_ context.Context, _ channel.Range, q updatesQuery) (updatesPage, error) {
			updates, gap, err := s.Updates(q.Channel, q.After, q.Limit)
			return pageOf(updates, gap, q.Cut), err
		}),
		counts: NewCall(s, "counts", func(_ context.Context, r channel.Range, _ struct{}) (rangeCounts, error) {
			g := s.of(r.From).local()
			if g == nil {
				return rangeCounts{}, errElsewhere
			}
			channels, subscriptions := g.state.Counts()
			return rangeCounts{channels, subscriptions}, nil
		}),
	}
}

// Channel returns a channel's record, or ErrNotFound.
func (v View) Channel(ctx context.Context, id channel.ID) (channel.Channel, error) {
	return v.s.views.channel.At(ctx, id.Bucket(), id)
}

// Subscription returns a subscription, or ErrNotFound if it does not exist or exists no
// more.
func (v View) Subscription(ctx context.Context, id string) (channel.Subscription, error) {
	b, _, err := state.ParseSubscriptionID(id)
	if err != nil {
		return channel.Subscription{}, err
	}
	return v.s.views.subscription.At(ctx, b, id)
}

// Beginnings returns where streams of subscriptions begin, in their order; with exist only whether
// they are missing, and their channels: those of ranges that can be read also beside an error.
// Each range is asked once.
func (v View) Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error) {
	buckets := make([]channel.Bucket, len(ids))
	for i, id := range ids {
		var err error
		if buckets[i], _, err = state.ParseSubscriptionID(id); err != nil {
			return nil, err
		}
	}
	all := make([]channel.Beginning, len(ids))
	var unread error
	err := v.s.EachRange(ctx, 0, func(r channel.Range) (more bool, err error) {
		q := subscriptionsQuery{SubscriptionQuery: SubscriptionQuery{Limit: 1}, Exist: exist}
		var at []int
		for i, b := range buckets {
			if r.Has(b) {
				at, q.Begin = append(at, i), append(q.Begin, ids[i])
			}
		}
		if at == nil {
			return true, nil
		}
		page, err := v.s.views.subscriptions.In(ctx, r, q)
		if exist && err != nil && !errors.Is(err, errDivided) {
			unread = errors.Join(unread, err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for n, i := range at {
			if page.Beginnings != nil {
				all[i] = page.Beginnings[n]
			} else if all[i], err = v.beginning(ctx, ids[i]); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return all, errors.Join(err, unread)
}

// beginning asks a node that does not know Begin.
func (v View) beginning(ctx context.Context, id string) (b channel.Beginning, err error) {
	sub, err := v.Subscription(ctx, id)
	if errors.Is(err, channel.ErrNotFound) {
		return channel.Beginning{Missing: true}, nil
	}
	if err != nil {
		return b, err
	}
	b.Channel, b.From = sub.Channel, sub.FromVersion
	updates, gap, err := v.Updates(ctx, sub.Channel, max(sub.FromVersion, 2)-1, 1)
	if err != nil && !errors.Is(err, channel.ErrNotFound) {
		return b, err
	}
	b.Gap = gap
	if len(updates) > 0 {
		b.News = updates[0].Cursor()
		return b, nil
	}
	ch, err := v.Channel(ctx, sub.Channel)
	if err != nil && !errors.Is(err, channel.ErrNotFound) {
		return b, err
	}
	if ch.GoneStamp > 0 {
		b.News = channel.Cursor{Stamp: ch.GoneStamp, Bucket: ch.ID.Bucket()}
	}
	return b, nil
}

// Progress returns how far a channel's deliveries are, or ErrNotFound.
func (v View) Progress(ctx context.Context, id channel.ID) (channel.Progress, error) {
	return v.s.views.progress.At(ctx, id.Bucket(), id)
}

// Endpoint returns the record of a sink URL. One without failures has none and is healthy.
func (v View) Endpoint(ctx context.Context, url string) (channel.Endpoint, error) {
	return v.s.views.endpoint.At(ctx, channel.IDOf(url).Bucket(), url)
}

// Updates returns up to limit updates of a channel with versions above after, in order,
// and the gap before them if some are no longer kept; or ErrNotFound.
func (v View) Updates(ctx context.Context, id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	var all updatesPage
	for more := true; more; {
		page, err := v.s.views.updates.At(ctx, id.Bucket(), updatesQuery{id, after, limit - len(all.Updates), true})
		switch {
		case err != nil:
			return nil, nil, err
		case len(all.Updates) == 0:
			all = page
		case page.Gap != nil: // since the page before: the next call says so
			return all.Updates, all.Gap, nil
		default:
			all.Updates = append(all.Updates, page.Updates...)
		}
		if more = page.More; more {
			after = page.Updates[len(page.Updates)-1].Version
		}
	}
	return all.Updates, all.Gap, nil
}

// pageBytes is from how many bytes on a page of updates between nodes ends.
const pageBytes = 1 << 20

// pageOf is a page of updates, without patches, which other pollers alone need. It has one
// update at least, which is no longer than a message may be.
func pageOf(updates []channel.Update, gap *channel.Gap, cut bool) updatesPage {
	size := 0
	for i := range updates {
		updates[i].Patch = nil
		if size += len(updates[i].Data); cut && size >= pageBytes && i < len(updates)-1 {
			return updatesPage{updates[:i+1], gap, true}
		}
	}
	return updatesPage{Updates: updates, Gap: gap}
}

// Channels returns up to limit channels in the order of their IDs, after one or from
// the first. Their Judge is nil.
func (v View) Channels(ctx context.Context, after *channel.ID, limit int) (channels []channel.Channel, err error) {
	first := channel.Bucket(0)
	if after != nil {
		first = after.Bucket()
	}
	err = v.s.EachRange(ctx, first, func(r channel.Range) (more bool, err error) {
		page, err := v.s.views.channels.In(ctx, r, channelsQuery{after, limit - len(channels)})
		if err == nil {
			channels, after = append(channels, page...), nil
		}
		return len(channels) < limit, err
	})
	if err != nil {
		return nil, err
	}
	return channels, nil
}

// EachRange visits the ranges in the order of their buckets from the one with a bucket on, until
// visit returns false. One that was split before a [Call.In] had its answer, whose error visit
// returns, is visited again, part by part.
func (s *Store) EachRange(ctx context.Context, first channel.Bucket, visit func(r channel.Range) (more bool, err error)) error {
	for b := int(first); b < channel.Buckets; {
		r := s.of(channel.Bucket(b)).Range
		more, err := visit(r)
		if errors.Is(err, errDivided) && ctx.Err() == nil {
			continue
		}
		if err != nil || !more {
			return err
		}
		b = int(r.To) + 1
	}
	return nil
}

// Subscriptions returns a page of subscriptions in the order of their IDs, and the
// cursor of the next page, empty when there is none. What exists from the first page to
// the last appears exactly once. An After that is not the ID of a subscription is
// ErrNotFound.
func (v View) Subscriptions(ctx context.Context, q SubscriptionQuery) (page []channel.Subscription, next string, err error) {
	if q.Limit = max(q.Limit, 1); q.Channel != nil {
		got, err := v.s.views.subscriptions.At(ctx, q.Channel.Bucket(), subscriptionsQuery{SubscriptionQuery: q})
		return got.Page, got.Next, err
	}
	bucket := channel.Bucket(0)
	if q.After != "" {
		if bucket, _, err = state.ParseSubscriptionID(q.After); err != nil {
			return nil, "", err
		}
	}
	limit := q.Limit
	err = v.s.EachRange(ctx, bucket, func(r channel.Range) (more bool, err error) {
		got, err := v.s.views.subscriptions.In(ctx, r, subscriptionsQuery{SubscriptionQuery: q})
		if err != nil {
			return false, err
		}
		page, next = append(page, got.Page...), got.Next
		if next == "" && len(page) == limit {
			next = page[limit-1].ID // what follows, if anything does, is in a range behind
		}
		q.After, q.Limit = "", limit-len(page)
		return next == "", nil
	})
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

// countsWithin is how long Counts waits for leaders.
const countsWithin = time.Second

// Counts returns the number of channels and of subscriptions in the cluster, as far as
// this node and the leaders of the ranges that it has no replica of know, and how many
// of those ranges gave no answer within a second.
func (v View) Counts(ctx context.Context) (channels, subscriptions uint64, unknown int) {
	ctx, cancel := context.WithTimeout(ctx, countsWithin)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	channels, subscriptions = v.s.Counts()
	for _, r := range v.s.inOrder() {
		if g := r.local(); g != nil && !g.empty() {
			continue
		}
		asking.Go(func() {
			n, err := v.s.views.counts.at(ctx, r, struct{}{})
			mu.Lock()
			defer mu.Unlock()
			if channels, subscriptions = channels+n.Channels, subscriptions+n.Subscriptions; err != nil {
				unknown++
			}
		})
	}
	asking.Wait()
	return channels, subscriptions, unknown
}
