// Package watch is corona watch: it subscribes for as long as it runs and prints the
// updates of a node's stream.
package watch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

const long = `Print updates as they come: of these URLs, or of every channel of the cluster.
Each says when it was detected, which entries were added (+), changed (~) and
withdrawn (-), and how the core content differs from the version before.

A URL without subscriptions is subscribed to for the time of this command: until
Ctrl-C, SIGTERM or the end of the pipe that it prints into. One that has
subscriptions is watched as long as it has. After a lost connection watch resumes
where it was: no update is lost or printed twice.

With --json each line is an object with a "type": "update", with the fields of
an update; "gap" (versions that are missing), "gone" (the origin answered 410)
or "reset" (the node no longer knows where this watch was: updates may be
missing).`

const example = `  corona watch https://blog.rust-lang.org/feed.xml
  corona watch
  corona watch --json | jq -r 'select(.type == "update") | .entries.added[].title'`

// goodbye is how long watch takes to end the subscriptions that it made.
const goodbye = 5 * time.Second

func NewCommand() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "watch [URL…]",
		Short:             "Print updates as they come",
		Long:              long,
		Example:           example,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return watch(cmd, &flags, args) },
	}
	flags.Add(cmd)
	return cmd
}

func watch(cmd *cobra.Command, flags *cli.NodeFlags, rawURLs []string) (err error) {
	urls, err := canonicalURLs(rawURLs)
	if err != nil {
		return err
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	signal.Ignore(syscall.SIGPIPE) // the end of the pipe must not keep watch from unsubscribing
	w := &watcher{client: client, notes: cmd.ErrOrStderr(), print: newWatchPrinter(cmd.OutOrStdout(), flags.JSON)}
	defer func() { err = errors.Join(err, w.leave(cmd.Context())) }()
	if err := w.join(cmd.Context(), urls); err != nil {
		return err
	}
	return w.follow(cmd.Context())
}

// canonicalURLs returns each URL once.
func canonicalURLs(raw []string) ([]string, error) {
	var urls []string
	seen := map[string]bool{}
	for _, text := range raw {
		canonical, err := channel.Canonical(text)
		if err != nil {
			return nil, err
		}
		if !seen[canonical] {
			seen[canonical] = true
			urls = append(urls, canonical)
		}
	}
	return urls, nil
}

// watcher is a running watch.
type watcher struct {
	client *api.Client
	notes  io.Writer
	print  watchPrinter
	filter api.StreamFilter // its subscriptions are those that watch made
}

// join fills the filter and subscribes to URLs that have no subscription.
func (w *watcher) join(ctx context.Context, urls []string) error {
	for _, url := range urls {
		id := channel.IDOf(url)
		subscribed, err := w.isSubscribed(ctx, id)
		if err != nil {
			return cli.NodeError(err)
		}
		if subscribed {
			w.filter.Channels = append(w.filter.Channels, id)
			continue
		}
		request := api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}, Key: rand.Text()}
		made, err := w.client.Subscribe(ctx, request)
		if err != nil {
			return w.recall(ctx, request, err)
		}
		w.filter.Subscriptions = append(w.filter.Subscriptions, made.ID)
	}
	what := "every channel"
	if len(urls) > 0 {
		what = fmt.Sprintf("%s, %d subscribed to until the end", cli.Count(len(urls), "URL"), len(w.filter.Subscriptions))
	}
	fmt.Fprintf(w.notes, "watching %s; Ctrl-C ends\n", what)
	return nil
}

// recall asks again for a subscription that failed in a way that leaves open whether it was made,
// so that leave ends it: what the first request has made has the same key. It returns why that
// failed.
func (w *watcher) recall(ctx context.Context, request api.SubscribeRequest, why error) error {
	if refused := (*api.Problem)(nil); errors.As(why, &refused) && !refused.Retryable {
		return cli.NodeError(why)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	made, err := w.client.Subscribe(ctx, request)
	if err != nil {
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%w; %s may be subscribed", cli.Explain(why), request.URL))
	}
	w.filter.Subscriptions = append(w.filter.Subscriptions, made.ID)
	return cli.NodeError(why)
}

func (w *watcher) isSubscribed(ctx context.Context, id channel.ID) (bool, error) {
	for _, err := range w.client.Subscriptions(ctx, &id) {
		return err == nil, err
	}
	return false, nil
}

// follow prints what comes until the context ends.
func (w *watcher) follow(ctx context.Context) error {
	lost := func(err error, wait time.Duration) {
		fmt.Fprintf(w.notes, "connection lost, trying again in %s: %s\n", timespan.Text(wait), cli.OneLine(err.Error()))
	}
	for event, err := range w.client.Follow(ctx, w.filter, "", lost) {
		if err != nil {
			return cli.NodeError(err)
		}
		if err := w.event(event); errors.Is(err, syscall.EPIPE) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// leave ends the subscriptions that watch made, also when ctx has ended.
func (w *watcher) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	for i, id := range w.filter.Subscriptions {
		if err := w.client.Unsubscribe(ctx, id); err != nil {
			left := w.filter.Subscriptions[i:]
			return cli.NodeError(fmt.Errorf("%w; still subscribed: %v", cli.Explain(err), left))
		}
	}
	return nil
}

func (w *watcher) event(event api.StreamEvent) error {
	switch event.Type {
	case api.StreamUpdate:
		return printEvent(event.Update, w.print.update)
	case api.StreamGap:
		return printEvent(event.Gap, w.print.gap)
	case api.StreamGone:
		return printEvent(event.Gone, w.print.gone)
	case api.StreamReset:
		return w.print.reset()
	}
	return nil // a type of a later version
}

func printEvent[T any](read func() (T, error), print func(*T) error) error {
	data, err := read()
	if err != nil {
		return cli.NodeError(err)
	}
	return print(&data)
}
