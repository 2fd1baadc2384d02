package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// unmarshal reads a record of the state.
func unmarshal(key, value []byte, record proto.Message) error {
	if err := proto.Unmarshal(value, record); err != nil {
		return misfit("record at key %x: %w", key, err)
	}
	return nil
}

// eachInBuckets visits the keys of one kind over all buckets, from the key start
// on, until visit returns false. Buckets without such keys cost nothing.
func eachInBuckets(r pebble.Reader, kind byte, start []byte, visit func(key, value []byte) (bool, error)) error {
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: kindPrefix(systemBucket, 0)})
	if err != nil {
		return disk.ReadError("read state", err)
	}
	for ok := iter.First(); ok; {
		b, has := keyBucket(iter.Key())
		switch {
		case has < kind:
			ok = iter.SeekGE(kindPrefix(b, kind))
		case has > kind:
			ok = iter.SeekGE(kindPrefix(b+1, kind))
		default:
			more, err := visit(iter.Key(), iter.Value())
			if err != nil || !more {
				return errors.Join(err, disk.ReadError("read state", iter.Close()))
			}
			ok = iter.Next()
		}
	}
	return disk.ReadError("read state", iter.Close())
}

// absent turns the error of a missing record of a bucket into ErrNotFound, or into ErrRestoring
// where it may come yet.
func absent(r pebble.Reader, b channel.Bucket, err error) error {
	if !isMissing(err) {
		return err
	}
	bucket := &wire.Bucket{}
	switch err := Get(r, bucketKey(b), bucket); {
	case err != nil && !isMissing(err):
		return err
	case bucket.Restoring:
		return ErrRestoring
	}
	return channel.ErrNotFound
}

// promised is absent for a record of which another one says that it is there: without it the bucket
// is damaged, unless it may come yet.
func promised(r pebble.Reader, b channel.Bucket, err error) error {
	if err = absent(r, b, err); errors.Is(err, channel.ErrNotFound) {
		return misfit("bucket %d has a subscription without its record, or its channel's", b)
	}
	return err
}

// Channel returns a channel's record, or ErrNotFound.
func (r *Reader) Channel(id channel.ID) (channel.Channel, error) {
	done, err := r.reading()
	if err != nil {
		return channel.Channel{}, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	record, err := getChannel(view, id)
	if err != nil {
		return channel.Channel{}, absent(view, id.Bucket(), err)
	}
	c := channelOf(id, record)
	c.Judge, err = getRaw(view, channelKey(kindJudge, id))
	return c, err
}

// getRaw returns a copy of a value, nil if there is none.
func getRaw(r pebble.Reader, key []byte) ([]byte, error) {
	value, closer, err := r.Get(key)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, disk.ReadError("read state", err)
	}
	return append([]byte{}, value...), closer.Close()
}

// Channels returns up to limit channels in the order of their IDs, after one or
// from the first. Their Judge is nil.
func (r *Reader) Channels(after *channel.ID, limit int) ([]channel.Channel, error) {
	return r.ChannelsIn(channel.Range{To: channel.Buckets - 1}, after, limit)
}

// ChannelsIn is [Reader.Channels] of the buckets of a range.
func (r *Reader) ChannelsIn(in channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	start := kindPrefix(in.From, kindChannel)
	if after != nil {
		start = append(channelKey(kindChannel, *after), 0)
	}
	channels := make([]channel.Channel, 0, min(limit, 1024))
	_, err = eachChannel(r.db, start, func(id channel.ID, record *wire.Channel) bool {
		if id.Bucket() > in.To || len(channels) == limit {
			return false
		}
		channels = append(channels, channelOf(id, record))
		return true
	})
	return channels, err
}

// Seen returns the identities that a channel remembers, oldest first: the newest
// 4096. A channel that does not exist remembers none.
func (r *Reader) Seen(id channel.ID) ([]uint64, error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	var seen []uint64
	prefix := channelKey(kindSeen, id)
	err = scan(r.db, prefix, prefix, func(key, value []byte) (bool, error) {
		chunk := &wire.Seen{}
		if err := unmarshal(key, value, chunk); err != nil {
			return false, err
		}
		seen = append(seen, chunk.Identities...)
		return true, nil
	})
	return seen[max(len(seen)-maxSeen, 0):], err
}

// Endpoint returns what is known of a sink URL; nothing known means healthy.
func (r *Reader) Endpoint(url string) (channel.Endpoint, error) {
	done, err := r.reading()
	if err != nil {
		return channel.Endpoint{}, err
	}
	defer done()
	record := &wire.Endpoint{}
	err = Get(r.db, endpointKey(url), record)
	if isMissing(err) {
		return channel.Endpoint{URL: url}, nil
	}
	return endpointOf(record), err
}

// Endpoints returns all endpoints that are not healthy.
func (r *Reader) Endpoints() ([]channel.Endpoint, error) {
	return r.EndpointsIn(channel.Range{To: channel.Buckets - 1})
}

// EndpointsIn is [Reader.Endpoints] of the buckets of a range.
func (r *Reader) EndpointsIn(in channel.Range) ([]channel.Endpoint, error) {
	done, err := r.reading()
	if err != nil {
		return nil, err
	}
	defer done()
	var endpoints []channel.Endpoint
	err = eachInBuckets(r.db, kindEndpoint, kindPrefix(in.From, kindEndpoint), func(key, value []byte) (bool, error) {
		if b, _ := keyBucket(key); b > in.To {
			return false, nil
		}
		record := &wire.Endpoint{}
		if err := unmarshal(key, value, record); err != nil {
			return false, err
		}
		endpoints = append(endpoints, endpointOf(record))
		return true, nil
	})
	return endpoints, err
}
