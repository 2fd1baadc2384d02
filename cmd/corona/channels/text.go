package channels

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// printChannel prints all that is known of a channel.
func printChannel(w io.Writer, c *api.Channel) {
	cli.Fact(w, "channel", "%s", c.ID)
	cli.Fact(w, "url", "%s", c.URL)
	PrintWay(w, c)
	cli.Fact(w, "subscribers", "%d", c.Subscribers)
	cli.Fact(w, "version", "%d", c.Version)
	if c.Kind != "" {
		cli.Fact(w, "kind", "%s", c.Kind)
	}
	if c.LastPoll != nil {
		cli.Fact(w, "last poll", "%s, %s", cli.TimeText(c.LastPoll), Finding(c))
	}
	cli.Fact(w, "last change", "%s", cli.TimeText(c.LastChange))
	printHeld(w, c.Held)
	if c.Gone {
		PrintGone(w)
	} else {
		printPolling(w, c)
	}
	cli.Fact(w, "owner", "%s", c.Owner)
	if c.Failures > 0 {
		cli.Fact(w, "failed", "%s", inARow(c.Failures))
	}
	if c.FeedURL != "" {
		cli.Fact(w, "names a feed", "%s", c.FeedURL)
	}
	fmt.Fprintln(w)
}

// PrintGone prints what a 410 means for a channel.
func PrintGone(w io.Writer) {
	cli.Fact(w, "gone", "the origin answered 410: it is not polled any more, and new subscriptions do not change that; once it has had no subscription for an interval, a new one polls it again")
}

// printPolling prints how a channel is polled.
func printPolling(w io.Writer, c *api.Channel) {
	cli.Fact(w, "next poll", "%s", cli.TimeText(c.NextPoll))
	PrintWaiting(w, c.Waiting)
	cli.Fact(w, "rate", "%s", rateText(c))
	for _, bound := range c.Bounds {
		cli.Fact(w, "bound", "%s", BoundText(bound))
	}
	if c.Host != nil {
		cli.Fact(w, "host", "%s", hostText(c.Host))
	}
	if c.UpdateIntervalS > 0 {
		cli.Fact(w, "changes every", "%s", changesText(c))
	}
}

// rateText says how often a channel is polled, and by which pollers if it is.
func rateText(c *api.Channel) string {
	text := paceText(c.Rate, c.PollIntervalS)
	if len(c.Pollers) > 0 {
		text += ", by " + cli.Count(c.Width, "poller") + ": " + strings.Join(c.Pollers, ", ")
	}
	return text
}

// unknownIntervalS is the longest update interval in seconds, which is also what
// nodes say before two changes are known.
const unknownIntervalS = 7 * 24 * 3600

func changesText(c *api.Channel) string {
	if c.Version < 3 && c.UpdateIntervalS >= unknownIntervalS {
		return "not known yet"
	}
	return timespan.Seconds(c.UpdateIntervalS)
}

// inARow says how many times something has happened without a break.
func inARow(times int) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", times)
}

// PrintWay prints where a channel's URL leads, if it leads elsewhere.
func PrintWay(w io.Writer, c *api.Channel) {
	switch {
	case c.MovedTo == "":
	case c.MovedLearned:
		cli.Fact(w, "moved to", "%s: polls ask there", c.MovedTo)
	case c.MovedSince == nil:
		cli.Fact(w, "moved to", "%s, its origin says: polls ask there when this has held for weeks", c.MovedTo)
	default:
		cli.Fact(w, "moved to", "%s, its origin says since %s: polls ask there when this has held for weeks", c.MovedTo, cli.TimeText(c.MovedSince))
	}
	if c.FinalURL != "" && c.FinalURL != c.MovedTo {
		cli.Fact(w, "leads to", "%s", c.FinalURL)
	}
	if c.SameAs != (channel.ID{}) {
		cli.Fact(w, "same as", "channel %s, which ends at the same URL", c.SameAs)
	}
}

// printHeld prints what waits to be told.
func printHeld(w io.Writer, held *api.Held) {
	if held != nil {
		cli.Fact(w, "held", "since %s: %s", cli.TimeText(&held.Since), held.What)
	}
}

func PrintWaiting(w io.Writer, waiting *api.Waiting) {
	if waiting == nil {
		return
	}
	text := waitText(waiting)
	if waiting.Until != nil {
		text += ", until " + cli.TimeText(waiting.Until)
	}
	if waiting.Detail != "" {
		text += " (" + waiting.Detail + ")"
	}
	cli.Fact(w, "waits", "%s", text)
}

// waitText says in a few words what a channel waits for; nothing for nothing.
func waitText(waiting *api.Waiting) string {
	if waiting == nil {
		return ""
	}
	switch waiting.For {
	case api.WaitFailures:
		return "asked less often after failures"
	case api.WaitRetryAfter:
		return "its origin asked for time"
	case api.WaitHost:
		return "its host is left alone"
	case api.WaitFreshness:
		return "still fresh, its origin says"
	case api.WaitSkip:
		return "nothing comes now, its feed says"
	}
	return "waits for " + waiting.For // a newer node's word
}

// BoundText says what an origin asked for and what follows from it.
func BoundText(b api.Bound) string {
	text := "at most every " + timespan.Seconds(b.IntervalS)
	if b.Source == api.BoundSkipHours || b.Source == api.BoundSkipDays {
		text = "none for up to " + timespan.Seconds(b.IntervalS)
	}
	text += ", by " + b.Source
	if said := saidText(b.Said); said != "" && said != timespan.Seconds(b.IntervalS) { // else it is said already
		text += " " + said
	}
	if b.Clamped {
		text += ", which is more than is followed"
	}
	return text
}

// saidText writes what an origin asked for: a duration as all others, hours and days
// to skip as they came.
func saidText(said string) string {
	if d, err := time.ParseDuration(said); err == nil {
		return timespan.Text(d)
	}
	return said
}

// hostText says how a host is treated.
func hostText(h *api.ChannelHost) string {
	text := h.Name + ": no gap between requests"
	if h.GapS > 0 {
		text = h.Name + ": a request every " + timespan.Seconds(h.GapS)
	}
	text += fmt.Sprintf(", %d at a time", h.Parallel)
	if h.Refusals > 0 {
		text += "; it refused " + inARow(h.Refusals)
	}
	if h.RestingUntil != nil && h.Scope == api.ScopeHost {
		text += "; left alone until " + cli.TimeText(h.RestingUntil)
	}
	return text
}

// Finding says in words what the last poll of a channel found.
func Finding(c *api.Channel) string {
	switch {
	case c.Gone:
		return "the origin answered 410"
	case c.LastError != "":
		return "failed: " + c.LastError
	case c.LastStatus != 0 && c.LastStatus != 200 && c.LastStatus != 304:
		return fmt.Sprintf("the origin answered %d", c.LastStatus)
	case !Ended(c):
		return "under way"
	case c.Version == 0:
		return "no content that could be kept so far"
	}
	return fmt.Sprintf("%s of %d bytes, now at version %d", c.Kind, c.SizeBytes, c.Version)
}

// Ended reports whether a poll has ended: it may have begun and be on its way
// through redirects. Of a channel that is gone no other poll will be known.
func Ended(c *api.Channel) bool {
	return c.Gone || c.LastPoll != nil && (c.Version > 0 || c.LastStatus != 0 || c.LastError != "")
}
