// Command corona runs a node of Corona, talks to one, and holds the tools that
// need none: the difference engine and the load generator.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, "corona:", err)
	}
	os.Exit(exitCode(err))
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "corona",
		Short:         "Publish-subscribe for the part of the Web that only answers when asked",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand()
	return root
}
