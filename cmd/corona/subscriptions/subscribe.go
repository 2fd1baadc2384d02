// Package subscriptions is corona subscribe, corona unsubscribe and corona
// subscriptions.
package subscriptions

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/channels"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const subscribeLong = `Subscribe to a URL: a feed, a page, JSON or text. Prints the subscription, then
what the first poll found and when the next one is due. A new channel is polled
at once; that first content is version 1, which the first update is compared with
and which is not delivered.

` + cli.SinkHelp + `

Each call makes a subscription of its own, unless --key names one made within
the last 24 hours by the same request: then that one is printed again. If that has been
deleted since, nothing is subscribed, and the exit code is 1.`

const subscribeExample = `  corona subscribe https://blog.rust-lang.org/feed.xml
  corona subscribe https://example.com/terms --sink webhook:https://example.com/hook
  CORONA_SECRET_FILE=hook.key corona subscribe https://example.com/ --sink webhook:https://example.com/hook
  corona subscribe https://example.com/ --json --wait 0 | jq -r .id`

type subscribeFlags struct {
	node cli.NodeFlags
	sink cli.SinkFlags
	key  string
	wait time.Duration
}

func NewSubscribe() *cobra.Command {
	var flags subscribeFlags
	cmd := &cobra.Command{
		Use:               "subscribe URL",
		Short:             "Subscribe to a URL and say what its first poll found",
		Long:              subscribeLong,
		Example:           subscribeExample,
		Args:              cli.WantArgs("URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	flags.node.Add(cmd)
	flags.sink.Add(cmd)
	cmd.Flags().StringVar(&flags.key, "key", "", "idempotency `key`: the same key and request give the same subscription")
	cmd.Flags().DurationVar(&flags.wait, "wait", 35*time.Second, "how long to wait for the first poll; 0: not at all")
	return cmd
}

func (f *subscribeFlags) run(cmd *cobra.Command, rawURL string) error {
	canonical, _, err := channel.Parse(rawURL)
	if err != nil {
		return err
	}
	sink, err := f.sink.Parse()
	if err != nil {
		return err
	}
	client, err := f.node.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	subscription, err := client.Subscribe(cmd.Context(), api.SubscribeRequest{URL: canonical, Sink: sink, Key: f.key})
	if err != nil {
		return cli.NodeError(err)
	}
	if subscription.State == api.StateDeleted {
		return f.deleted(cmd.OutOrStdout(), subscription)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if !f.node.JSON {
		printSubscription(out, subscription)
		if err := out.Flush(); err != nil {
			return fmt.Errorf("subscribed as %s, but: %w", subscription.ID, err)
		}
	}
	wait := pollWait{client: client, most: f.wait, progress: newTicker(cmd.ErrOrStderr(), "waiting for the first poll")}
	polled, err := wait.run(cmd.Context(), subscription.Channel)
	if err != nil {
		return cli.NodeError(fmt.Errorf("subscribed as %s, but: %w", subscription.ID, err))
	}
	if f.node.JSON {
		if polled != nil && !channels.Ended(polled) {
			polled = nil
		}
		return cli.PrintJSON(cmd.OutOrStdout(), subscribed{subscription, polled})
	}
	if f.wait > 0 {
		printFirstPoll(out, polled)
	}
	return out.Flush()
}

// deleted reports that the key's subscription is there no more.
func (f *subscribeFlags) deleted(out io.Writer, subscription api.Subscription) error {
	if f.node.JSON {
		if err := cli.PrintJSON(out, subscription); err != nil {
			return err
		}
	}
	return cli.Exit(cli.ExitNo, fmt.Errorf("not subscribed: the key %q stands for %s, which has been deleted; give another key, or none",
		f.key, subscription.ID))
}

// subscribed is what subscribe prints for programs: the subscription, and what
// is known of its channel after the first poll, if that was waited for.
type subscribed struct {
	api.Subscription
	FirstPoll *api.Channel `json:"first_poll,omitempty"`
}

func printSubscription(w io.Writer, s api.Subscription) {
	cli.Fact(w, "subscribed", "%s", s.URL)
	cli.Fact(w, "id", "%s", s.ID)
	cli.Fact(w, "channel", "%s", s.Channel)
	cli.Fact(w, "sink", "%s", cli.SinkText(s.Sink))
	cli.Fact(w, "from version", "%d", s.FromVersion)
}

// printFirstPoll prints what a channel's first poll found, or what that poll waits
// for; nil is a channel that nothing was heard of.
func printFirstPoll(w io.Writer, c *api.Channel) {
	if c != nil && c.Gone {
		channels.PrintGone(w) // perhaps long ago: there may be no first poll to wait for
		return
	}
	if c == nil || !channels.Ended(c) {
		cli.Fact(w, "first poll", "not yet; ask again with \"corona channels CHANNEL\"")
		if c != nil {
			channels.PrintWaiting(w, c.Waiting)
		}
		return
	}
	cli.Fact(w, "first poll", "%s", channels.Finding(c))
	channels.PrintWay(w, c)
	if c.NextPoll != nil {
		cli.Fact(w, "next poll", "%s", cli.TimeText(c.NextPoll))
	}
	channels.PrintWaiting(w, c.Waiting)
	for _, bound := range c.Bounds {
		cli.Fact(w, "bound", "%s", channels.BoundText(bound))
	}
	if c.FeedURL != "" {
		cli.Fact(w, "feed", "this page names one: %s", c.FeedURL)
		cli.Fact(w, "", "for its entries instead of the page's changes: corona subscribe %s", cli.ShellWord(c.FeedURL))
	}
}
