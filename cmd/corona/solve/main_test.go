package solve

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

func newRootCommand() *cobra.Command { return clitest.Root(NewCommand()) }

// runCorona runs the command as the program does.
func runCorona(ctx context.Context, stdin string, args ...string) clitest.Outcome {
	return clitest.Run(ctx, newRootCommand(), stdin, args...)
}
