package ownership

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Rest has hosts of one range rest, each at least until its time, a day at most; those
// rest already of which a rest adds less than a second and no refusal. It returns how
// many were committed. A call may hold up to 1,000.
func (s *Store) Rest(ctx context.Context, r channel.Range, rests []channel.Rest) (committed int, err error) {
	command := &wire.Rest{}
	now := wire.Micros(s.cfg.Now())
	for _, rest := range rests {
		item := &wire.Rest_Item{Host: rest.Host[:], Refusals: uint32(rest.Refusals), Turn: rest.Turn}
		if until := wire.Micros(rest.Until); until > now {
			item.ForUs = min(until-now, uint64(channel.LongestRest.Microseconds()))
		}
		adds, err := s.addsTo(rest.Host, item, now)
		if err != nil {
			return 0, err
		}
		if adds {
			command.Items = append(command.Items, item)
		}
	}
	if len(command.Items) == 0 {
		return 0, nil
	}
	err = s.doHere(ctx, s.of[r.From], &wire.Command{Change: &wire.Command_Rest{Rest: command}})
	return len(command.Items), err
}

// restTolerance is by how much a rest may end later than the one that stands without
// being another: two reports of one refusal differ by the time that they were on their way.
const restTolerance = 1_000_000 // µs

// addsTo reports whether a rest adds something to what stands.
func (s *Store) addsTo(host channel.ID, item *wire.Rest_Item, now uint64) (bool, error) {
	if item.ForUs == 0 {
		return false, nil
	}
	done, err := s.reading()
	if err != nil {
		return false, err
	}
	defer done()
	stands := &wire.Resting{}
	if err := getProto(s.state, channelKey(kindResting, host), stands); err != nil && !isMissing(err) {
		return false, err
	}
	return stands.UntilUs <= now || now+item.ForUs > stands.UntilUs+restTolerance || item.Refusals > stands.Refusals, nil
}

// RestsIn returns the hosts of a range that rest, in the order of their IDs.
func (s *Store) RestsIn(r channel.Range) (rests []channel.Rest, err error) {
	now := wire.Micros(s.cfg.Now())
	err = s.eachResting(r, func(host channel.ID, stands *wire.Resting) {
		if stands.UntilUs > now {
			rests = append(rests, channel.Rest{
				Host: host, Until: wire.Time(stands.UntilUs), Refusals: uint8(stands.Refusals), Turn: stands.Turn,
			})
		}
	})
	return rests, err
}

func (s *Store) eachResting(r channel.Range, visit func(channel.ID, *wire.Resting)) error {
	done, err := s.reading()
	if err != nil {
		return err
	}
	defer done()
	return eachInBuckets(s.state, kindResting, kindPrefix(r.From, kindResting), func(key, value []byte) (bool, error) {
		if b, _ := keyBucket(key); b > r.To {
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

// forgetRests proposes to forget hosts whose rest is over.
func (w *sweeper) forgetRests(ctx context.Context, nowUS uint64) {
	for _, g := range w.s.groups {
		if !g.serving.Load() {
			continue
		}
		var over wire.Rest
		err := w.s.eachResting(channel.Range{From: g.from, To: g.to}, func(host channel.ID, stands *wire.Resting) {
			if stands.UntilUs <= nowUS && len(over.Items) < maxRests {
				over.Items = append(over.Items, &wire.Rest_Item{Host: host[:]})
			}
		})
		if err != nil {
			w.s.tools.log.Warn("sweep could not read hosts that rest", "error", err)
		} else if len(over.Items) > 0 {
			w.propose(ctx, g.from, &wire.Command{Change: &wire.Command_Rest{Rest: &over}})
		}
	}
}
