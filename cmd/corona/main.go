// Command corona runs a node of Corona, talks to one, and holds the tools that
// need none: the optimiser, the difference engine and the load generator.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/backups"
	"github.com/seed-91e7e7c1/corona/cmd/corona/channels"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/lists"
	"github.com/seed-91e7e7c1/corona/cmd/corona/load"
	"github.com/seed-91e7e7c1/corona/cmd/corona/nodes"
	"github.com/seed-91e7e7c1/corona/cmd/corona/sim"
	"github.com/seed-91e7e7c1/corona/cmd/corona/solve"
	"github.com/seed-91e7e7c1/corona/cmd/corona/status"
	"github.com/seed-91e7e7c1/corona/cmd/corona/subscriptions"
	"github.com/seed-91e7e7c1/corona/cmd/corona/trace"
	"github.com/seed-91e7e7c1/corona/cmd/corona/watch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, func() {
		time.Sleep(sameSignal)
		stop() // a second signal ends the program at once, but for a hangup
	})
	os.Exit(cli.Run(ctx, newRootCommand()))
}

// sameSignal is how soon a second signal is still the first one: timeout(1) signals
// its child and then the child's group.
const sameSignal = 300 * time.Millisecond

// stopSignals are the signals that ask the program to stop in order. A terminal that
// closes sends SIGHUP; nohup(1) starts the program with SIGHUP ignored, and Notify
// would undo that.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		// Caught until the end, since the kernel, the shell and the session may each send
		// one: Ignore, while one comes, can end the process.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

const rootLong = `Corona is a publish-subscribe system for the part of the Web that only answers
when asked. Subscribe to the URL of a feed, page, JSON or text: Corona polls it,
notices when its content really changed, and pushes the difference to every
subscriber.

Exit codes: 0 done; 1 the answer is "no" (something refused, missed or different);
2 wrong usage or bad input; 3 a node could not be reached, or refused.`

const rootExample = `  corona serve                                          # a node, on http://127.0.0.1:8410
  corona watch https://blog.rust-lang.org/feed.xml      # in a second shell: updates as they come
  corona subscribe https://blog.rust-lang.org/feed.xml --sink webhook:https://example.com/hook`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "corona",
		Short:             "Publish-subscribe for the part of the Web that only answers when asked",
		Long:              rootLong,
		Example:           rootExample,
		Version:           thisBuild().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applySettings(cmd, os.Environ()) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	root.PersistentFlags().String(configFlag, "", "YAML `file` with settings (see corona help settings)")
	addGroup(root, "run", "Run:",
		newServeCommand(), newCertsCommand(), backups.NewBackup(), backups.NewRestore())
	addGroup(root, "use", "Use a node:",
		subscriptions.NewSubscribe(), subscriptions.NewUnsubscribe(), subscriptions.NewList(), channels.NewList(), channels.NewExplain(), channels.NewForget(),
		newUpdatesCommand(), watch.NewCommand(), status.NewCommand(), nodes.NewCommand(), lists.NewImport(), lists.NewExport())
	addGroup(root, "tools", "Tools:",
		solve.NewCommand(), sim.NewCommand(), newDiffCommand(), newPatchCommand(), newCoreCommand(), trace.NewCommand(),
		newLoadgenCommand(), load.NewProfile(), newVersionCommand())
	root.AddCommand(newSettingsTopic())
	root.SetHelpCommandGroupID("tools")
	root.SetCompletionCommandGroupID("tools")
	return root
}

// addGroup adds commands under a title of the root's help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, command := range commands {
		command.GroupID = id
		root.AddCommand(command)
	}
}
