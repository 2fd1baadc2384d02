package state

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// restTolerance is by how much a rest may end later than the one that stands without
// being another: two reports of one refusal differ by the time that they were on their way.
const restTolerance = 1_000_000 // µs

// NewRest returns a command that has hosts of one range rest, with those of the rests that
// add something to what stands, and how many those are.
func (d *DB) NewRest(rests []channel.Rest, at time.Time) (command *wire.Command, adding int, err error) {
	var added wire.Rest
	now := wire.Micros(at)
	for _, rest := range rests {
		item := &wire.Rest_Item{Host: rest.Host[:], Refusals: uint32(rest.Refusals), Turn: rest.Turn}
		if until := wire.Micros(rest.Until); until > now {
			item.ForUs = min(until-now, uint64(channel.LongestRest.Microseconds()))
		}
		adds, err := d.addsTo(rest.Host, item, now)
		if err != nil {
			return nil, 0, err
		}
		if adds {
			added.Items = append(added.Items, item)
		}
	}
	return &wire.Command{Change: &wire.Command_Rest{Rest: &added}}, len(added.Items), nil
}

// addsTo reports whether a rest adds something to what stands.
func (d *DB) addsTo(host channel.ID, item *wire.Rest_Item, now uint64) (bool, error) {
	if item.ForUs == 0 {
		return false, nil
	}
	done, err := d.reading()
	if err != nil {
		return false, err
	}
	defer done()
	stands := &wire.Resting{}
	if err := Get(d.db, channelKey(kindResting, host), stands); err != nil && !isMissing(err) {
		return false, err
	}
	return stands.UntilUs <= now || now+item.ForUs > stands.UntilUs+restTolerance || item.Refusals > stands.Refusals, nil
}

// Rests returns the hosts of a range that rest at a time, in the order of their IDs.
func (d *DB) Rests(in channel.Range, at time.Time) (rests []channel.Rest, err error) {
	now := wire.Micros(at)
	err = d.eachResting(in, func(host channel.ID, stands *wire.Resting) {
		if stands.UntilUs > now {
			rests = append(rests, channel.Rest{
				Host: host, Until: wire.Time(stands.UntilUs), Refusals: uint8(stands.Refusals), Turn: stands.Turn,
			})
		}
	})
	return rests, err
}

// ForgetRests returns a command that forgets hosts of a range whose rest is over, and how
// many those are.
func (d *DB) ForgetRests(in channel.Range, at time.Time) (command *wire.Command, hosts int, err error) {
	var over wire.Rest
	now := wire.Micros(at)
	err = d.eachResting(in, func(host channel.ID, stands *wire.Resting) {
		if stands.UntilUs <= now && len(over.Items) < maxRests {
			over.Items = append(over.Items, &wire.Rest_Item{Host: host[:]})
		}
	})
	return &wire.Command{Change: &wire.Command_Rest{Rest: &over}}, len(over.Items), err
}

func (d *DB) eachResting(in channel.Range, visit func(channel.ID, *wire.Resting)) error {
	done, err := d.reading()
	if err != nil {
		return err
	}
	defer done()
	return eachInBuckets(d.db, kindResting, kindPrefix(in.From, kindResting), func(key, value []byte) (bool, error) {
		if b, _ := keyBucket(key); b > in.To {
			return false, nil
		}
		stands := &wire.Resting{}
		if err := unmarshal(key, value, stands); err != nil {
			return false, err
		}
		visit(keyChannel(key), stands)
		return true, nil
	})
}
