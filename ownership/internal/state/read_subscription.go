package state

import (
	"context"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Subscription returns a subscription, or ErrNotFound if it does not exist or
// exists no more.
func (r *Reader) Subscription(id string) (channel.Subscription, error) {
	b, seq, err := ParseSubscriptionID(id)
	if err != nil {
		return channel.Subscription{}, err
	}
	done, err := r.reading()
	if err != nil {
		return channel.Subscription{}, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	ch, err := seqChannel(view, b, seq)
	if err != nil {
		return channel.Subscription{}, absent(view, b, err)
	}
	return newSubscriptionReader(view).read(ch, seq)
}

// Beginnings returns where streams of subscriptions begin, in their order; with exist only whether
// they are missing, and their channels.
func (r *Reader) Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	all := make([]channel.Beginning, len(ids))
	for i, id := range ids {
		b, seq, err := ParseSubscriptionID(id)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		all[i].Channel, err = seqChannel(view, b, seq)
		switch err = absent(view, b, err); {
		case errors.Is(err, channel.ErrNotFound):
			all[i].Missing = true
		case err == nil && !exist:
			err = promised(view, b, readBeginning(view, seq, &all[i]))
			fallthrough
		default:
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// readBeginning reads the rest of a beginning, of a subscription with a number.
func readBeginning(view pebble.Reader, seq uint64, b *channel.Beginning) error {
	member, ch := &wire.Subscription{}, (*wire.Channel)(nil)
	err := Get(view, channelItemKey(kindMember, b.Channel, seq), member)
	if err == nil {
		ch, err = getChannel(view, b.Channel)
	}
	if err != nil {
		return err
	}
	b.From = member.FromVersion
	after := max(b.From, 2) - 1 // version 1 is not delivered
	b.Gap = gapAfter(after, ch)
	if after < ch.Version {
		err = scan(view, channelKey(kindUpdate, b.Channel), channelItemKey(kindUpdate, b.Channel, after+1), func(key, value []byte) (bool, error) {
			update := &wire.Update{}
			err := unmarshal(key, value, update)
			b.News = channel.Cursor{Stamp: update.Stamp, Bucket: b.Channel.Bucket()}
			return false, err
		})
	}
	if b.News == (channel.Cursor{}) && ch.GoneStamp > 0 {
		b.News = channel.Cursor{Stamp: ch.GoneStamp, Bucket: b.Channel.Bucket()}
	}
	return err
}

// subscriptionReader reads subscriptions of a view, and each channel's URL once.
type subscriptionReader struct {
	r    pebble.Reader
	urls map[channel.ID]string
}

func newSubscriptionReader(r pebble.Reader) *subscriptionReader {
	return &subscriptionReader{r: r, urls: make(map[channel.ID]string)}
}

func (sr *subscriptionReader) read(id channel.ID, seq uint64) (channel.Subscription, error) {
	record, url := &wire.Subscription{}, ""
	err := Get(sr.r, channelItemKey(kindMember, id, seq), record)
	if err == nil {
		url, err = sr.url(id)
	}
	if err != nil {
		return channel.Subscription{}, promised(sr.r, id.Bucket(), err)
	}
	return subscriptionOf(id, url, seq, record), nil
}

func (sr *subscriptionReader) url(id channel.ID) (string, error) {
	if url, ok := sr.urls[id]; ok {
		return url, nil
	}
	record, err := getChannel(sr.r, id)
	if err != nil {
		return "", err
	}
	sr.urls[id] = record.Url
	return record.Url, nil
}

// SubscriptionQuery selects a page of subscriptions.
type SubscriptionQuery struct {
	After   string      // the ID of the last one of the page before, empty for the first page
	Channel *channel.ID // only this channel's
	Limit   int         // at least 1
}

// Subscriptions returns a page of the subscriptions of this node's replicas, in the order of
// their IDs, and the cursor of the next page, empty when there is none. An After that is not
// the ID of a subscription is ErrNotFound.
func (r *Reader) Subscriptions(q SubscriptionQuery) (page []channel.Subscription, next string, err error) {
	return r.SubscriptionsIn(channel.Range{To: channel.Buckets - 1}, q)
}

// SubscriptionsIn reads the page of one range. The cursor of the next page is empty when
// the range has no more.
func (r *Reader) SubscriptionsIn(in channel.Range, q SubscriptionQuery) (page []channel.Subscription, next string, err error) {
	bucket, seq := in.From, uint64(0)
	if q.After != "" {
		if bucket, seq, err = ParseSubscriptionID(q.After); err != nil {
			return nil, "", err
		}
	}
	limit := max(q.Limit, 1)
	if q.Channel != nil {
		page, err = r.Subscribers(*q.Channel, seq, limit+1)
	} else {
		page, err = r.allSubscriptions(in, bucket, seq, limit+1)
	}
	if err != nil || len(page) <= limit {
		return page, "", err
	}
	page = page[:limit]
	return page, page[limit-1].ID, nil
}

func (r *Reader) allSubscriptions(in channel.Range, b channel.Bucket, after uint64, limit int) (page []channel.Subscription, err error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	reader := newSubscriptionReader(view)
	err = eachInBuckets(view, kindSeq, bucketItemKey(b, kindSeq, after+1), func(key, value []byte) (bool, error) {
		b, _ := keyBucket(key)
		if b > in.To {
			return false, nil
		}
		id, err := seqChannelOf(b, lastItem(key), value)
		if err != nil {
			return false, err
		}
		subscription, err := reader.read(id, lastItem(key))
		page = append(page, subscription)
		return len(page) < limit, err
	})
	return page, err
}

// Subscribers returns up to limit of a channel's subscriptions in subscription
// order, after a sequence number. A channel that does not exist has none.
func (r *Reader) Subscribers(id channel.ID, afterSeq uint64, limit int) (page []channel.Subscription, err error) {
	return r.subscribers(id, afterSeq, limit, func(channel.Sink) bool { return true })
}

// Webhooks returns up to limit of a channel's subscriptions that have a webhook, as
// [Reader.Subscribers] does.
func (r *Reader) Webhooks(id channel.ID, afterSeq uint64, limit int) (page []channel.Subscription, err error) {
	return r.subscribers(id, afterSeq, limit, func(sink channel.Sink) bool { return sink.Type == channel.SinkWebhook })
}

func (r *Reader) subscribers(id channel.ID, afterSeq uint64, limit int, chosen func(channel.Sink) bool) (page []channel.Subscription, err error) {
	done, err := r.reading()
	if err != nil || afterSeq == math.MaxUint64 {
		return nil, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	reader := newSubscriptionReader(view)
	err = scan(view, channelKey(kindMember, id), channelItemKey(kindMember, id, afterSeq+1), func(key, value []byte) (bool, error) {
		record := &wire.Subscription{}
		if err := unmarshal(key, value, record); err != nil {
			return false, err
		}
		url, err := reader.url(id)
		if subscription := subscriptionOf(id, url, lastItem(key), record); chosen(subscription.Sink) {
			page = append(page, subscription)
		}
		return len(page) < limit, err
	})
	return page, err
}

// Progress returns how far a channel's deliveries are, with all stragglers in
// subscription order, or ErrNotFound.
func (r *Reader) Progress(id channel.ID) (channel.Progress, error) {
	done, err := r.reading()
	if err != nil {
		return channel.Progress{}, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	record, err := getChannel(view, id)
	if err != nil {
		return channel.Progress{}, absent(view, id.Bucket(), err)
	}
	at, err := getPosition(view, id)
	if err != nil {
		return channel.Progress{}, err
	}
	p := channel.Progress{Channel: id, Incarnation: record.Incarnation, Version: at.Version, Seq: at.Seq}
	err = eachStraggler(view, id, func(straggler channel.Straggler) { p.Stragglers = append(p.Stragglers, straggler) })
	return p, err
}
