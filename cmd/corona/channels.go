package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const channelsLong = `List channels: all in a table, or the named ones in full. CHANNEL is an ID (40
hex digits) or a URL. VERSION is 0 until the first content is committed; RATE is
in polls per interval by the whole cluster, for the reasons that "corona explain"
gives; STATUS is the HTTP status of the last poll; times are UTC. In full, a
channel also says what its polls wait for, what its origin asked for, how its host
is treated, and where redirects lead.`

const channelsExample = `  corona channels
  corona channels https://blog.rust-lang.org/feed.xml
  corona channels --json | jq '.channels[] | select(.failures > 3) | .url'
  corona channels --json | jq -r '.channels[].host | select(.resting_until) | .name' | sort -u`

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
	ids, err := parseChannels(names)
	if err != nil {
		return err
	}
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	list := newChannelList(cmd.OutOrStdout(), flags.json, len(ids) > 0)
	for c, err := range chosenChannels(cmd, client, names, ids) {
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
func chosenChannels(cmd *cobra.Command, client *api.Client, names []string, ids []channel.ID) iter.Seq2[api.Channel, error] {
	if len(ids) == 0 {
		return client.Channels(cmd.Context())
	}
	return func(yield func(api.Channel, error) bool) {
		for i, id := range ids {
			c, err := client.Channel(cmd.Context(), id)
			if err != nil {
				err = fmt.Errorf("%s: %w", names[i], err)
			}
			if !yield(c, err) {
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
			close: func() error { return nil },
			add: func(c api.Channel) error {
				out := bufio.NewWriter(w)
				printChannel(out, &c)
				return out.Flush()
			},
		}
	}
	rows := newTable(w, "VERSION", "SUBSCRIBERS", "RATE", "LAST POLL", "STATUS", "NEXT POLL", "URL")
	return rowList[api.Channel]{
		close: rows.close,
		add: func(c api.Channel) error {
			return rows.add(c.Version, c.Subscribers, rateCell(c.Rate), timeText(c.LastPoll), status(&c), timeText(c.NextPoll), c.URL+trouble(cmp.Or(c.LastError, waitText(c.Waiting)), nil))
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
