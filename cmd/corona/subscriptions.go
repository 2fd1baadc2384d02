package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const subscriptionsLong = `List subscriptions: all, or those of one channel. STATE is active, suspended
(the webhook failed through the whole retry schedule and is tried once a day) or
disabled (it answered 410). FROM is the first version that it gets, DELIVERED
the last that its webhook has acknowledged.`

const subscriptionsExample = `  corona subscriptions
  corona subscriptions --channel https://blog.rust-lang.org/feed.xml
  corona subscriptions --json | jq -r '.subscriptions[].id'`

func newSubscriptionsCommand() *cobra.Command {
	var flags nodeFlags
	var of string
	cmd := &cobra.Command{
		Use:               "subscriptions",
		Short:             "List subscriptions",
		Long:              subscriptionsLong,
		Example:           subscriptionsExample,
		Args:              wantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return listSubscriptions(cmd, &flags, of) },
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&of, "channel", "", "only those of `CHANNEL`, an ID or a URL")
	return cmd
}

func listSubscriptions(cmd *cobra.Command, flags *nodeFlags, of string) error {
	var id *channel.ID
	if of != "" {
		parsed, err := parseChannel(of)
		if err != nil {
			return fmt.Errorf("--channel: %w", err)
		}
		id = &parsed
	}
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	list := newSubscriptionList(cmd.OutOrStdout(), flags.json)
	for subscription, err := range client.Subscriptions(cmd.Context(), id) {
		if err != nil {
			return nodeError(err)
		}
		if err := list.add(subscription); err != nil {
			return err
		}
	}
	return list.close()
}

// rowList prints items as they come: as a table, or as JSON.
type rowList[T any] struct {
	add   func(T) error
	close func() error
}

func newSubscriptionList(w io.Writer, asJSON bool) rowList[api.Subscription] {
	if asJSON {
		return newJSONRows[api.Subscription](w, "subscriptions")
	}
	rows := newTable(w, "ID", "STATE", "SINK", "FROM", "DELIVERED", "URL")
	return rowList[api.Subscription]{
		close: rows.close,
		add: func(s api.Subscription) error {
			return rows.add(s.ID, s.State, sinkText(s.Sink), s.FromVersion, s.DeliveredVersion, s.URL+trouble(s.LastError, s.FailingSince))
		},
	}
}

func newJSONRows[T any](w io.Writer, name string) rowList[T] {
	rows := newJSONList(w, name)
	return rowList[T]{
		add:   func(item T) error { return rows.add(item) },
		close: func() error { return rows.close(struct{}{}) },
	}
}
