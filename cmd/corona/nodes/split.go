package nodes

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const splitLong = `Split ranges, the largest first, until the cluster has COUNT of them, at most 256, and
print how many there are. No data moves; writes to what is split wait for tenths
of a second, on busy machines for a second or two. There are never fewer ranges
again. The command may be interrupted: the cluster goes on, and the same command
shows how far it is.

More ranges spread more evenly over many nodes, and each is smaller to move and to fill
again; each costs every node that has it some memory and, idle, some messages.`

const splitExample = `  corona nodes split 64
  corona nodes split 64 --json`

func newSplit() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use: "split COUNT", Short: "Split ranges until there are so many", Long: splitLong, Example: splitExample,
		Args:              cli.WantArgs("COUNT"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := strconv.Atoi(args[0])
			if err != nil || to < 1 {
				return fmt.Errorf("%q ranges: want a number", args[0])
			}
			client, err := flags.Client()
			if err != nil {
				return err
			}
			defer client.Close()
			if err := client.SplitRanges(cmd.Context(), to); err != nil {
				return cli.NodeError(err)
			}
			return followSplit(cmd, client, &flags, to)
		},
	}
	flags.Add(cmd)
	return cmd
}

// followSplit prints how many ranges there are whenever that changes, until there are so many.
func followSplit(cmd *cobra.Command, client *api.Client, flags *cli.NodeFlags, to int) error {
	ctx, said, answered, wanted := cmd.Context(), -1, time.Now(), false
	for {
		nodes, err := client.Nodes(ctx)
		if err != nil && (ctx.Err() != nil || time.Since(answered) > patience) {
			return cli.NodeError(errors.Join(err, errors.New("the cluster goes on")))
		}
		if err == nil {
			answered = time.Now()
			if nodes.Ranges != said && !flags.JSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s of %d\n", cli.Count(nodes.Ranges, "range"), to)
				said = nodes.Ranges
			}
			if nodes.Ranges >= to && flags.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), nodes)
			}
			if nodes.Ranges >= to {
				return nil
			}
			if wanted && nodes.RangesWanted < to {
				return cli.NodeError(fmt.Errorf("%s are wanted no longer: there are %d", cli.Count(to, "range"), nodes.Ranges))
			}
			wanted = wanted || nodes.RangesWanted >= to
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return cli.NodeError(ctx.Err())
		}
	}
}
