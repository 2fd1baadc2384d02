package hosts

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// told is a rest in a message.
type told struct {
	Host     channel.ID `json:"host"`
	LeftUS   int64      `json:"left_us"` // it lasts still
	Refusals uint8      `json:"refusals"`
	Turn     uint64     `json:"turn"`
}

// most is how many rests one message holds.
const most = 1000

var errOtherRange = errors.New("a rest of a host of another range")

func encode(rests []channel.Rest, now time.Time) []byte {
	all := make([]told, len(rests))
	for i, rest := range rests {
		left := min(rest.Until.Sub(now), channel.LongestRest) // the clock may have been set back
		all[i] = told{rest.Host, left.Microseconds(), rest.Refusals, rest.Turn}
	}
	content, err := json.Marshal(all)
	if err != nil {
		panic(err) // of these types
	}
	return content
}

// decode refuses a message as a whole: in each a program as this one has written it, all
// rests are sound.
func decode(content []byte, now time.Time) ([]channel.Rest, error) {
	var all []told
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("decode rests: %w", err)
	}
	if len(all) > most {
		return nil, fmt.Errorf("decode rests: %d in one message", len(all))
	}
	rests := make([]channel.Rest, 0, len(all))
	for _, one := range all {
		left := time.Duration(one.LeftUS) * time.Microsecond
		if one.LeftUS > channel.LongestRest.Microseconds() || one.Refusals == 0 {
			return nil, fmt.Errorf("decode rests: host %s rests %d µs after %d refusals", one.Host, one.LeftUS, one.Refusals)
		}
		if left > 0 { // else it has ended on its way
			rests = append(rests, channel.Rest{Host: one.Host, Until: now.Add(left), Refusals: one.Refusals, Turn: one.Turn})
		}
	}
	return rests, nil
}
