package subscriptions

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const subscriptionsLong = `List subscriptions: all, or those of one channel. STATE is active, suspended
(the webhook failed through the whole retry schedule and is tried once a day) or
disabled (it answered 410). FROM is the first version that it gets, DELIVERED
the last that its webhook has acknowledged.`

const subscriptionsExample = `  corona subscriptions
  corona subscriptions --channel https://blog.rust-lang.org/feed.xml
  corona subscriptions --json | jq -r '.subscriptions[].id'`

func NewList() *cobra.Command {
	var flags cli.NodeFlags
	var of string
	cmd := &cobra.Command{
		Use:               "subscriptions",
		Short:             "List subscriptions",
		Long:              subscriptionsLong,
		Example:           subscriptionsExample,
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return listSubscriptions(cmd, &flags, of) },
	}
	flags.Add(cmd)
	cmd.Flags().StringVar(&of, "channel", "", "only those of `CHANNEL`, an ID or a URL")
	return cmd
}

func listSubscriptions(cmd *cobra.Command, flags *cli.NodeFlags, of string) error {
	var id *channel.ID
	if of != "" {
		parsed, err := cli.ParseChannel(of)
		if err != nil {
			return fmt.Errorf("--channel: %w", err)
		}
		id = &parsed
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	return newSubscriptionList(cmd.OutOrStdout(), flags.JSON).Print(client.Subscriptions(cmd.Context(), id))
}

func newSubscriptionList(w io.Writer, asJSON bool) cli.RowList[api.Subscription] {
	if asJSON {
		return cli.NewJSONRows[api.Subscription](w, "subscriptions")
	}
	rows := cli.NewTable(w, "ID", "STATE", "SINK", "FROM", "DELIVERED", "URL")
	return cli.RowList[api.Subscription]{
		Close: rows.Close,
		Add: func(s api.Subscription) error {
			return rows.Add(s.ID, s.State, cli.SinkText(s.Sink), s.FromVersion, s.DeliveredVersion, s.URL+cli.Trouble(s.LastError, s.FailingSince))
		},
	}
}
