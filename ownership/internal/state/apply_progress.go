package state

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// applyAdvance moves delivery positions on. What concerns a channel or a
// subscription that is gone is dropped: its deliveries no longer matter.
func applyAdvance(tx *Tx, c *wire.Advance) (Result, error) {
	stragglers := 0
	for _, item := range c.Items {
		if _, err := tx.id(string(item.Channel)); err != nil {
			return Result{}, err
		}
		stragglers += len(item.Stragglers)
	}
	if stragglers > maxStragglers {
		return Result{}, fmt.Errorf("%w: %d stragglers in one command", ErrInvalid, stragglers)
	}
	for _, item := range c.Items {
		if err := advanceOne(tx, channel.ID(item.Channel), item, c.Empty); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

// advanceOne never moves a channel's position back. An item behind it is late, from
// before a change of leadership, and is ignored: its stragglers are complete up to its
// own position only. With empty a channel that has no version, as one that is gone since its
// first poll, stands at version 1.
func advanceOne(tx *Tx, id channel.ID, item *wire.Advance_Item, empty bool) error {
	record, err := tx.channel(id)
	if err != nil {
		return err
	}
	if record == nil || record.Incarnation != item.Incarnation {
		return nil
	}
	version := record.Version
	if empty {
		version = max(version, 1)
	}
	if item.Version > version {
		return nil
	}
	r, err := tx.reader()
	if err != nil {
		return err
	}
	at, err := getPosition(r, id)
	if err != nil {
		return err
	}
	if order := cmp.Or(cmp.Compare(item.Version, at.Version), cmp.Compare(item.Seq, at.Seq)); order < 0 {
		return nil
	} else if order > 0 {
		at = &wire.Position{Incarnation: item.Incarnation, Version: item.Version, Seq: item.Seq}
		if err := tx.put(channelKey(kindPosition, id), at); err != nil {
			return err
		}
	}
	for _, straggler := range item.Stragglers {
		if err := setStraggler(tx, id, straggler); err != nil {
			return err
		}
	}
	return nil
}

func setStraggler(tx *Tx, id channel.ID, s *wire.Straggler) error {
	key := channelItemKey(kindStraggler, id, s.Seq)
	if s.Next == 0 {
		return tx.delete(key)
	}
	subscribed, err := tx.has(channelItemKey(kindMember, id, s.Seq))
	if err != nil || !subscribed {
		return err
	}
	return tx.putRaw(key, binary.BigEndian.AppendUint64(nil, s.Next))
}

// applySetEndpoint keeps what is known of a sink URL, if that stands which it was made
// from; nothing to remember needs no record.
func applySetEndpoint(tx *Tx, c *wire.SetEndpoint) (Result, error) {
	if err := checkSetEndpoint(c); err != nil {
		return Result{}, err
	}
	id := channel.IDOf(c.Endpoint.Url)
	if err := tx.own(id.Bucket()); err != nil {
		return Result{}, err
	}
	key := channelKey(kindEndpoint, id)
	stands := &wire.Endpoint{Url: c.Endpoint.Url}
	if err := tx.get(key, stands); err != nil && !isMissing(err) {
		return Result{}, err
	}
	if c.Was != nil && endpointOf(stands) != endpointOf(c.Was) {
		return Result{Err: ErrStale}, nil
	}
	if endpointOf(c.Endpoint).Healthy() {
		return Result{}, tx.delete(key)
	}
	return Result{}, tx.put(key, c.Endpoint)
}
