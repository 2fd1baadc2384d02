package witness

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/api"
)

// arrivals is what reached one webhook sink.
type arrivals struct {
	subscription string
	last         uint64 // the newest version, 0 before the first
	ids          map[uint64]string
	updates      map[uint64]*api.Update
	answered     map[uint64]bool // with 2xx, or lost in a gap that was
	gaps         []api.Gap       // those that overlap, or follow each other, are one
}

// checkDeliveries follows every webhook as it arrived. It returns what came to each sink,
// by label.
func (c *checker) checkDeliveries() (sinks map[string]*arrivals) {
	sinks, versionOf := make(map[string]*arrivals), make(map[string]string)
	for i := range c.Deliveries {
		delivery := &c.Deliveries[i]
		record := c.recordOf(delivery)
		if record == nil {
			c.violated(RuleUnasked, "a message to the sink %s, which no subscription names", delivery.Label)
			continue
		}
		if !c.checkMessage(delivery, record) {
			continue
		}
		sink := sinks[record.Label]
		if sink == nil {
			sink = &arrivals{subscription: delivery.Subscription, ids: make(map[uint64]string), updates: make(map[uint64]*api.Update), answered: make(map[uint64]bool)}
			sinks[record.Label] = sink
		}
		if delivery.Gap != nil {
			c.checkGap(delivery, record, sink)
			continue
		}
		c.checkArrival(delivery, record, sink)
		c.checkWebhookID(delivery, sink, versionOf)
		c.witness(record.Channel, delivery.Update, "webhook "+record.Label)
	}
	c.checkDelivered(sinks)
	return sinks
}

// recordOf returns the wish that a message is for, nil if there is none.
func (c *checker) recordOf(delivery *Delivery) *SubscribeRecord {
	if record := c.byID[delivery.Subscription]; record != nil && record.Endpoint == delivery.Label {
		return record
	}
	return c.byLabel[delivery.Label]
}

// checkMessage judges a message by itself; false when it is neither an update nor a gap
// that there may be.
func (c *checker) checkMessage(delivery *Delivery, record *SubscribeRecord) bool {
	if !delivery.Signed && record.Sink.Secret != "" {
		c.violated(RuleSigned, "message %s to %s", delivery.WebhookID, delivery.Label)
	}
	if record.Endpoint != "" && (delivery.Gap != nil || delivery.Type == api.MessageTest) {
		return delivery.Gap != nil
	}
	if delivery.Type != api.MessageUpdated || delivery.Update == nil {
		c.violated(RuleKind, "message %s of type %s to %s", delivery.WebhookID, delivery.Type, delivery.Label)
		return false
	}
	if of := c.Channels[record.Channel]; delivery.Update.Channel != of.ID || delivery.Update.URL != of.URL {
		c.violated(RuleUnasked, "%s subscribed to %s and got an update of %s", record.Label, of.URL, delivery.Update.URL)
	}
	return true
}

// checkArrival holds the order of first arrivals.
func (c *checker) checkArrival(delivery *Delivery, record *SubscribeRecord, sink *arrivals) {
	version := delivery.Update.Version
	if delivery.Subscription != sink.subscription {
		c.violated(RuleKey, "sink %s of one key serves subscriptions %s and %s", record.Label, sink.subscription, delivery.Subscription)
	}
	if first := record.Acked(); first != nil && first.Subscription.ID != delivery.Subscription {
		c.violated(RuleKey, "sink %s was acknowledged as %s and gets messages of %s", record.Label, first.Subscription.ID, delivery.Subscription)
	}
	if deleted := record.Deleted(); deleted != nil && delivery.Update.DetectedAt.After(c.Began.Add(deleted.Done)) {
		c.violated(RuleAfter, "%s was deleted at %s and got version %d, detected at %s",
			delivery.Subscription, deleted.Done, version, delivery.Update.DetectedAt.Sub(c.Began))
	}
	if known := sink.updates[version]; known != nil {
		if !sameUpdate(known, delivery.Update) {
			c.violated(RuleBody, "%s got version %d as %+v and as %+v", delivery.Subscription, version, *known, *delivery.Update)
		}
	} else if expected := c.expected(record, sink); expected != 0 && version != expected {
		c.violated(RuleOrder, "%s got version %d for the first time, want %d", delivery.Subscription, version, expected)
	}
	sink.updates[version], sink.last = delivery.Update, max(sink.last, version)
	sink.answered[version] = sink.answered[version] || delivery.Answer/100 == 2
}

// expected returns the version that must be the next to arrive for the first
// time; 0 when that cannot be known.
func (c *checker) expected(record *SubscribeRecord, sink *arrivals) uint64 {
	if sink.last > 0 {
		return sink.last + 1
	}
	if first := record.Acked(); first != nil {
		return first.Subscription.FromVersion
	}
	return 0
}

// checkWebhookID holds that IDs and (subscription, version) pairs are one to one.
func (c *checker) checkWebhookID(delivery *Delivery, sink *arrivals, versionOf map[string]string) {
	version := delivery.Update.Version
	if known := sink.ids[version]; known != "" && known != delivery.WebhookID {
		c.violated(RuleID, "%s got version %d as %s and as %s", delivery.Subscription, version, known, delivery.WebhookID)
	}
	pair := fmt.Sprintf("version %d of %s", version, delivery.Subscription)
	if known := versionOf[delivery.WebhookID]; delivery.WebhookID == "" || known != "" && known != pair {
		c.violated(RuleID, "webhook-id %q is of %s and of %s", delivery.WebhookID, known, pair)
	}
	sink.ids[version], versionOf[delivery.WebhookID] = delivery.WebhookID, pair
}

// checkDelivered holds that every listed webhook subscription has got all that is
// committed, and said so.
func (c *checker) checkDelivered(sinks map[string]*arrivals) {
	listed := make(map[string]api.Subscription)
	for _, sub := range c.snapshot.Listing {
		listed[sub.ID] = sub
	}
	for _, record := range c.Subscribes {
		first := record.Acked()
		if first == nil || record.Sink.Type != api.SinkWebhook {
			continue
		}
		sub, there := listed[first.Subscription.ID]
		if !there {
			continue
		}
		if sub.State != api.StateActive {
			c.pending(RuleUndelivered, "%s is %s: %s", sub.ID, sub.State, sub.LastError)
		}
		current := c.snapshot.Channels[c.Channels[record.Channel].ID].Version
		if current == 0 {
			c.pending(RuleUndelivered, "%s waits for the first content of %s", sub.ID, sub.URL)
		}
		sink := sinks[record.Label]
		for version := first.Subscription.FromVersion; version <= current; version++ {
			if sink == nil || !sink.answered[version] {
				c.pending(RuleUndelivered, "%s has not got version %d of %s, which is at %d", sub.ID, version, sub.URL, current)
				break
			}
		}
	}
}
