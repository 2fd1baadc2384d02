// Package channels is corona channels, corona explain and corona forget: what a node
// knows of its channels, in tables and in words.
package channels

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
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

func NewList() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "channels [CHANNEL…]",
		Short:             "List channels, or show some in full",
		Long:              channelsLong,
		Example:           channelsExample,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return listChannels(cmd, &flags, args) },
	}
	flags.Add(cmd)
	return cmd
}

func listChannels(cmd *cobra.Command, flags *cli.NodeFlags, names []string) error {
	client, ids, err := dial(flags, names)
	if err != nil {
		return err
	}
	defer client.Close()
	return newChannelList(cmd.OutOrStdout(), flags.JSON, len(ids) > 0).Print(chosenChannels(cmd, client, names, ids))
}

// chosenChannels returns the named channels, or all when none is named.
func chosenChannels(cmd *cobra.Command, client *api.Client, names []string, ids []channel.ID) iter.Seq2[api.Channel, error] {
	if len(ids) == 0 {
		return client.Channels(cmd.Context())
	}
	return each(names, ids, func(id channel.ID) (api.Channel, error) { return client.Channel(cmd.Context(), id) })
}

func newChannelList(w io.Writer, asJSON, inFull bool) cli.RowList[api.Channel] {
	if asJSON {
		return cli.NewJSONRows[api.Channel](w, "channels")
	}
	if inFull {
		return cli.RowList[api.Channel]{
			Close: func() error { return nil },
			Add: func(c api.Channel) error {
				out := bufio.NewWriter(w)
				printChannel(out, &c)
				return out.Flush()
			},
		}
	}
	rows := cli.NewTable(w, "VERSION", "SUBSCRIBERS", "RATE", "LAST POLL", "STATUS", "NEXT POLL", "URL")
	return cli.RowList[api.Channel]{
		Close: rows.Close,
		Add: func(c api.Channel) error {
			return rows.Add(c.Version, c.Subscribers, rateCell(c.Rate), cli.TimeText(c.LastPoll), status(&c), cli.TimeText(c.NextPoll), c.URL+cli.Trouble(cmp.Or(c.LastError, waitText(c.Waiting)), nil))
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
