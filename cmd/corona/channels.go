package main

import (
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const channelsLong = `List channels: all in a table, or the named ones in full. CHANNEL is an ID (40
hex digits) or a URL. VERSION is 0 until the first content is committed; RATE is
in polls per interval by the whole cluster; STATUS is the HTTP status of the
last poll; times are UTC.`

const channelsExample = `  corona channels
  corona channels https://blog.rust-lang.org/feed.xml
  corona channels --json | jq '.channels[] | select(.failures > 3) | .url'`

func newChannelsCommand() *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:               "channels [CHANNEL…]",
		Short:             "List channels, or show some in full",
		Long:              channelsLong,
		Example:           channelsExample,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return listChannels(cmd, &flags, args) },
	}
	flags.add(cmd)
	return cmd
}

func listChannels(cmd *cobra.Command, flags *nodeFlags, names []string) error {
	ids := make([]channel.ID, len(names))
	for i, name := range names {
		id, err := parseChannel(name)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	list := newChannelList(cmd.OutOrStdout(), flags.json, len(ids) > 0)
	for c, err := range chosenChannels(cmd, client, ids) {
		if err != nil {
			return nodeError(err)
		}
		if err := list.add(c); err != nil {
			return err
		}
	}
	return list.close()
}

// chosenChannels returns the named channels, or all when none is named.
func chosenChannels(cmd *cobra.Command, client *api.Client, ids []channel.ID) iter.Seq2[api.Channel, error] {
	if len(ids) == 0 {
		return client.Channels(cmd.Context())
	}
	return func(yield func(api.Channel, error) bool) {
		for _, id := range ids {
			if c, err := client.Channel(cmd.Context(), id); !yield(c, err) {
				return
			}
		}
	}
}

func newChannelList(w io.Writer, asJSON, inFull bool) rowList[api.Channel] {
	if asJSON {
		return newJSONRows[api.Channel](w, "channels")
	}
	if inFull {
		return rowList[api.Channel]{
			add:   func(c api.Channel) error { printChannel(w, &c); return nil },
			close: func() error { return nil },
		}
	}
	rows := newTable(w, "VERSION", "SUBSCRIBERS", "RATE", "LAST POLL", "STATUS", "NEXT POLL", "URL")
	return rowList[api.Channel]{
		close: rows.close,
		add: func(c api.Channel) error {
			return rows.add(c.Version, c.Subscribers, number(c.Rate), timeText(c.LastPoll), status(&c), timeText(c.NextPoll), c.URL+trouble(c.LastError, nil))
		},
	}
}

// status is how people see the HTTP status of the last poll.
func status(c *api.Channel) string {
	switch {
	case c.Gone:
		return "gone"
	case c.LastStatus != 0:
		return fmt.Sprint(c.LastStatus)
	case c.LastError != "":
		return "failed"
	}
	return "-"
}

// trouble is what a row says behind its URL when something is wrong.
func trouble(lastError string, since *time.Time) string {
	if lastError == "" {
		return ""
	}
	if since != nil {
		lastError = "failing since " + timeText(since) + ": " + lastError
	}
	return " (" + lastError + ")"
}

// number prints rates and times: without digits that say nothing.
func number(x float64) string {
	decimals := 0
	switch {
	case x == math.Trunc(x):
	case x < 1:
		decimals = 3
	case x < 100:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

func printChannel(w io.Writer, c *api.Channel) {
	fact(w, "channel", "%s", c.ID)
	fact(w, "url", "%s", c.URL)
	fact(w, "subscribers", "%d", c.Subscribers)
	fact(w, "version", "%d", c.Version)
	if c.Kind != "" {
		fact(w, "kind", "%s", c.Kind)
	}
	fact(w, "last poll", "%s, %s", timeText(c.LastPoll), finding(c))
	fact(w, "last change", "%s", timeText(c.LastChange))
	fact(w, "next poll", "%s", timeText(c.NextPoll))
	fact(w, "rate", "%s polls per interval by %s: %s", number(c.Rate), count(c.Width, "poller"), strings.Join(c.Pollers, ", "))
	fact(w, "owner", "%s", c.Owner)
	if c.Failures > 0 {
		fact(w, "failures", "%d in a row", c.Failures)
	}
	if c.UpdateIntervalS > 0 {
		fact(w, "changes every", "%v", time.Duration(c.UpdateIntervalS*float64(time.Second)).Round(time.Second))
	}
	if c.FeedURL != "" {
		fact(w, "names a feed", "%s", c.FeedURL)
	}
	fmt.Fprintln(w)
}
