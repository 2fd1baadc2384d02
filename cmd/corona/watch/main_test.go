package watch

import (
	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

func newRootCommand() *cobra.Command { return clitest.Root(NewCommand()) }
