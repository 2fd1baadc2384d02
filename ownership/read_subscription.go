package ownership

import (
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Subscription returns a subscription, or ErrNotFound if it does not exist or
// exists no more.
func (s *Store) Subscription(id string) (channel.Subscription, error) {
	b, seq, err := parseSubscriptionID(id)
	if err != nil {
		return channel.Subscription{}, err
	}
	done, err := s.reading()
	if err != nil {
		return channel.Subscription{}, err
	}
	defer done()
	view := s.state.NewSnapshot()
	defer view.Close()
	ch, err := seqChannel(view, b, seq)
	if err != nil {
		return channel.Subscription{}, missingIs(err)
	}
	return newSubscriptionReader(view).read(ch, seq)
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
	record := &wire.Subscription{}
	if err := getProto(sr.r, channelItemKey(kindMember, id, seq), record); err != nil {
		return channel.Subscription{}, err
	}
	url, err := sr.url(id)
	return subscriptionOf(id, url, seq, record), err
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

// Subscriptions returns a page of the subscriptions of this node's replicas, as
// [View.Subscriptions] does of all.
func (s *Store) Subscriptions(q SubscriptionQuery) (page []channel.Subscription, next string, err error) {
	return s.subscriptionsIn(channel.Range{To: channel.Buckets - 1}, q)
}

// subscriptionsIn reads the page of one range. The cursor of the next page is empty when
// the range has no more.
func (s *Store) subscriptionsIn(r channel.Range, q SubscriptionQuery) (page []channel.Subscription, next string, err error) {
	bucket, seq := r.From, uint64(0)
	if q.After != "" {
		if bucket, seq, err = parseSubscriptionID(q.After); err != nil {
			return nil, "", err
		}
	}
	limit := max(q.Limit, 1)
	if q.Channel != nil {
		page, err = s.Subscribers(*q.Channel, seq, limit+1)
	} else {
		page, err = s.allSubscriptions(r, bucket, seq, limit+1)
	}
	if err != nil || len(page) <= limit {
		return page, "", err
	}
	page = page[:limit]
	return page, page[limit-1].ID, nil
}

func (s *Store) allSubscriptions(r channel.Range, b channel.Bucket, after uint64, limit int) (page []channel.Subscription, err error) {
	done, err := s.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	view := s.state.NewSnapshot()
	defer view.Close()
	reader := newSubscriptionReader(view)
	err = eachInBuckets(view, kindSeq, bucketItemKey(b, kindSeq, after+1), func(key, value []byte) (bool, error) {
		if in, _ := keyBucket(key); in > r.To {
			return false, nil
		}
		subscription, err := reader.read(channel.ID(value), lastItem(key))
		page = append(page, subscription)
		return len(page) < limit, err
	})
	return page, err
}

// Subscribers returns up to limit of a channel's subscriptions in subscription
// order, after a sequence number. A channel that does not exist has none.
func (s *Store) Subscribers(id channel.ID, afterSeq uint64, limit int) (page []channel.Subscription, err error) {
	return s.subscribers(id, afterSeq, limit, func(channel.Sink) bool { return true })
}

// Webhooks returns up to limit of a channel's subscriptions that have a webhook, as
// [Store.Subscribers] does.
func (s *Store) Webhooks(id channel.ID, afterSeq uint64, limit int) (page []channel.Subscription, err error) {
	return s.subscribers(id, afterSeq, limit, func(sink channel.Sink) bool { return sink.Type == channel.SinkWebhook })
}

func (s *Store) subscribers(id channel.ID, afterSeq uint64, limit int, chosen func(channel.Sink) bool) (page []channel.Subscription, err error) {
	done, err := s.reading()
	if err != nil || afterSeq == math.MaxUint64 {
		return nil, err
	}
	defer done()
	view := s.state.NewSnapshot()
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
func (s *Store) Progress(id channel.ID) (channel.Progress, error) {
	done, err := s.reading()
	if err != nil {
		return channel.Progress{}, err
	}
	defer done()
	view := s.state.NewSnapshot()
	defer view.Close()
	record, err := getChannel(view, id)
	if err != nil {
		return channel.Progress{}, missingIs(err)
	}
	at, err := getPosition(view, id)
	if err != nil {
		return channel.Progress{}, err
	}
	p := channel.Progress{Channel: id, Incarnation: record.Incarnation, Version: at.Version, Seq: at.Seq}
	err = eachStraggler(view, id, func(straggler channel.Straggler) { p.Stragglers = append(p.Stragglers, straggler) })
	return p, err
}
