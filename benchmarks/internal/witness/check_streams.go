package witness

import (
	"slices"

	"github.com/seed-91e7e7c1/corona/api"
)

// span is what a stream got of one channel: the versions first to last.
type span struct{ first, last uint64 }

// checkStreams holds that each stream is one sequence per channel, over all its
// connections.
func (c *checker) checkStreams() {
	for n, stream := range c.Streams {
		spans, ids := make(map[int]span), make(map[string]bool)
		for _, event := range stream.Events {
			if ids[event.ID] || event.ID == "" {
				c.violated(RuleStream, "stream %d (%s) got the event ID %q twice, or none", n, stream.Filter, event.ID)
			}
			ids[event.ID] = true
			c.checkEvent(n, stream, event, spans)
		}
		c.spans = append(c.spans, spans)
	}
}

func (c *checker) checkEvent(n int, stream *StreamRecord, event StreamEvent, spans map[int]span) {
	if event.Type != api.StreamUpdate || event.Update == nil {
		c.violated(RuleKind, "stream %d (%s) got %s at %s", n, stream.Filter, event.Type, event.At)
		return
	}
	channel := slices.IndexFunc(c.Channels, func(r *ChannelRecord) bool { return r.ID == event.Update.Channel })
	if channel < 0 || stream.Filter != FilterNone && channel != stream.channel() {
		c.violated(RuleUnasked, "stream %d (%s) got an update of %s", n, stream.Filter, event.Update.URL)
		return
	}
	c.witness(channel, event.Update, "a stream")
	if !c.Channels[channel].Anchored && stream.Filter != FilterSubscription {
		return // its versions begin at 1 with every incarnation
	}
	version, got := event.Update.Version, spans[channel]
	expected := got.last + 1
	if got.first == 0 {
		expected = stream.from(version)
		got.first = version
	}
	if version != expected {
		c.violated(RuleStream, "stream %d (%s) got version %d of %s at %s, want %d", n, stream.Filter, version, event.Update.URL, event.At, expected)
	}
	got.last = max(got.last, version)
	spans[channel] = got
}

// channel returns the one channel of a filtered stream.
func (s *StreamRecord) channel() int {
	if s.Filter == FilterSubscription {
		return s.Subscribe.Channel
	}
	return s.Channel
}

// from returns the first version that a stream must get: that of its
// subscription, else whichever came first.
func (s *StreamRecord) from(first uint64) uint64 {
	if s.Filter == FilterSubscription {
		return s.Subscribe.Acked().Subscription.FromVersion
	}
	return first
}

// checkStreamEnds holds that each stream got all that it was owed.
func (c *checker) checkStreamEnds() {
	for n, stream := range c.Streams {
		if stream.Filter == FilterSubscription && len(stream.Subscribe.Deletes) > 0 {
			continue // its reader gave up, perhaps before it was answered once
		}
		if stream.Established == 0 {
			c.pending(RuleStream, "stream %d (%s) has not been answered", n, stream.Filter)
			continue
		}
		for channel, record := range c.Channels {
			covered := stream.Filter == FilterNone || stream.channel() == channel
			if !covered || !record.Anchored && stream.Filter != FilterSubscription {
				continue
			}
			owed := c.owed(stream, channel)
			current := c.snapshot.Channels[record.ID].Version
			got := c.spans[n][channel]
			if owed == 0 || owed > current {
				continue
			}
			if got.first > owed {
				c.violated(RuleStream, "stream %d (%s) began %s with version %d, want %d", n, stream.Filter, record.URL, got.first, owed)
			}
			if got.last < current {
				c.pending(RuleStream, "stream %d (%s) is at version %d of %s, which is at %d", n, stream.Filter, got.last, record.URL, current)
			}
		}
	}
}

// owed returns the first version of a channel that a stream must get, 0 when it
// is owed none: its subscription's first, or what was detected after the stream
// was established.
func (c *checker) owed(stream *StreamRecord, channel int) uint64 {
	if stream.Filter == FilterSubscription {
		return stream.Subscribe.Acked().Subscription.FromVersion
	}
	established, owed := c.Began.Add(stream.Established), uint64(0)
	for version, update := range c.versions[channel] {
		if update.DetectedAt.After(established) && (owed == 0 || version < owed) {
			owed = version
		}
	}
	return owed
}
