package channels

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// print says the rate and its reason first, then what that rests on.
func (e explanation) print(w io.Writer) {
	cli.Fact(w, "channel", "%s", e.Channel)
	cli.Fact(w, "url", "%s", e.URL)
	cli.Fact(w, "polled", "%s", paceText(e.Rate, e.PollIntervalS))
	cli.Fact(w, "because", "%s", e.reason())
	if e.DecidedBy == api.DecidedByNobody {
		return
	}
	cli.Fact(w, "factors", "%s", e.factors())
	if e.DecidedBy != api.DecidedByStart {
		cli.Fact(w, "allowed", "%s", e.allowed())
	}
	e.printNeighbour(w, "next in line", e.Neighbours.FirstOut, "another poll there spares")
	e.printNeighbour(w, "next to give", e.Neighbours.LastIn, "its last poll spares")
	if e.Host != nil {
		cli.Fact(w, "host", "%s", e.host())
	}
	for _, noise := range e.Noise {
		cli.Fact(w, "passed over", "%s", noiseText(noise))
	}
	printHeld(w, e.Held)
	cli.Fact(w, "next poll", "%s", cli.TimeText(e.NextPoll))
	PrintWaiting(w, e.Waiting)
	cli.Fact(w, "solved", "%s", cli.TimeText(e.Solved))
}

// reason says in a sentence what decided.
func (e explanation) reason() string {
	switch e.DecidedBy {
	case api.DecidedByWorth:
		return e.worth()
	case api.DecidedByNobody:
		return "it has no subscribers, or its origin said that it is gone"
	case api.DecidedByStart:
		return "it is new: its rate is about to be solved for"
	case api.RateByOnce:
		return "one poll per interval, as each subscriber's own reader would make; " + e.worth()
	case api.RateByOverflow:
		return "with fewer polls its entries would come and go unseen; " + e.worth()
	case api.RateByBudget:
		return "the budget is too small for a poll per interval of each channel; " + e.worth()
	case api.RateByFloor:
		return fmt.Sprintf("no poll comes sooner than the floor of %s after another", timespan.Seconds(e.FloorS))
	case api.RateByOrigin:
		return "its origin asks for no more polls"
	case api.RateByHost:
		return "its host takes no more polls for all its channels together"
	}
	return "decided by " + e.DecidedBy // a newer node's word
}

// worth compares what polls here spare with what they must.
func (e explanation) worth() string {
	text := ""
	if e.Worth.NextS != nil {
		text = fmt.Sprintf("another poll would spare its subscribers %s of waiting together, and must spare %s", e.spared(*e.Worth.NextS), e.spared(e.Worth.NeededS))
	}
	if e.Worth.LastS != nil {
		text += fmt.Sprintf("; its last one spares %s", e.spared(*e.Worth.LastS))
	}
	return text
}

// spared prints a worth of a unit of cost as that of a poll here.
func (e explanation) spared(worth float64) string { return timespan.Seconds(worth * e.Factors.Cost) }

// shortText prints three digits, or all before the point.
func shortText(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func (e explanation) factors() string {
	f := e.Factors
	text := cli.Count(int(f.Subscribers), "subscriber")
	if f.Weight != float64(f.Subscribers) && e.DecidedBy != api.DecidedByStart { // a new one has no weight yet
		text += fmt.Sprintf(", weighted as %s by policy %s", shortText(f.Weight), e.Policy)
	}
	if f.UpdateIntervalS >= unknownIntervalS {
		text += "; changes seldom, or not known how often"
	} else {
		text += "; changes every " + timespan.Seconds(f.UpdateIntervalS)
	}
	if f.SizeBytes > 0 {
		text += fmt.Sprintf("; a poll of %.0f bytes", f.SizeBytes)
	}
	return text
}

// rateBounds say where the ends of what a rate may be come from.
var rateBounds = map[string]string{
	api.RateByOnce:     "what a plain reader polls",
	api.RateByOverflow: "its entries would come and go unseen",
	api.RateByBudget:   "the budget is small",
	api.RateByFloor:    "the floor",
	api.RateByOrigin:   "its origin's words",
	api.RateByHost:     "its host's cap",
}

func (e explanation) allowed() string {
	return fmt.Sprintf("%s (%s) to %s (%s) polls per interval",
		rateCell(e.Least.Rate), rateBounds[e.Least.By], rateCell(e.Most.Rate), rateBounds[e.Most.By])
}

func (e explanation) printNeighbour(w io.Writer, name string, n *api.Neighbour, spares string) {
	if n == nil {
		return
	}
	who := n.URL
	if n.Channel == e.Channel {
		who = "this channel"
	}
	cli.Fact(w, name, "%s at %s per interval: %s %s", who, pollsText(n.Rate), spares, e.spared(n.WorthS))
}

func (e explanation) host() string {
	h := e.Host
	if h.Cap == nil {
		return h.Name + ", without a cap"
	}
	text := fmt.Sprintf("%s: %s polls per interval planned, %s at most", h.Name, cli.Number(h.Planned), cli.Number(*h.Cap))
	if h.MuS > 0 {
		text += fmt.Sprintf("; it is full, another poll must spare %s more", timespan.Seconds(h.MuS))
	}
	return text
}

// paceText says how often a channel is polled; everyS is the seconds between two
// polls, 0 where a node does not say.
func paceText(rate, everyS float64) string {
	text := ""
	switch {
	case rate == 0:
		return "not at all"
	case rate < 1:
		text = fmt.Sprintf("every %s intervals", cli.Number(intervals(rate)))
	case rate == 1:
		text = "once an interval"
	default:
		text = cli.Number(rate) + " times an interval"
	}
	if everyS == 0 {
		return text
	}
	if rate >= 1 {
		return text + " (every " + timespan.Seconds(everyS) + ")"
	}
	return text + " (" + timespan.Seconds(everyS) + ")"
}

// rateCell is a rate in few characters: 6, or 1/3.
func rateCell(rate float64) string {
	if rate > 0 && rate < 1 {
		return "1/" + cli.Number(intervals(rate))
	}
	return cli.Number(rate)
}

// pollsText is a rate with its noun.
func pollsText(rate float64) string {
	if rate == 1 {
		return "1 poll"
	}
	return rateCell(rate) + " polls"
}

// intervals returns the intervals between two polls at a rate below 1, without what
// floating point has lost.
func intervals(rate float64) float64 { return math.Round(1000/rate) / 1000 }

// noiseText says what is passed over, and why.
func noiseText(n api.Noise) string {
	text := deltas.Masked{What: n.What, Text: n.Text, Lines: n.Lines, Why: n.Why}.String()
	if n.CalmS > 0 {
		text += "; counts again after " + timespan.Seconds(n.CalmS) + " of calm"
	}
	return cli.Clean(text)
}
