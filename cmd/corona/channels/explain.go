package channels

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const explainLong = `Say why a channel is polled as often as it is. CHANNEL is an ID (40 hex digits) or
a URL.

Polls go where they spare most waiting: what another poll per interval of a
channel would spare all its subscribers together (each waits half the time between
two polls for a change, on average) is compared with what the same poll spares
elsewhere. What decided is printed as "because": that comparison, or a bound,
such as the floor, the origin's words or the cap of its host. Under the fair
policies waiting is weighted by how often a channel changes; with a budget of bytes
polls are compared per byte.

It also prints which parts of the content are passed over and why ("corona forget"
forgets what was learned), and what is held back until another poll shows it.`

const explainExample = `  corona explain https://blog.rust-lang.org/feed.xml
  corona explain b559c7edd3fb67374c1a25e739cdd7edd1d79949 --json | jq -r .decided_by`

func NewExplain() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "explain CHANNEL",
		Short:             "Say why a channel is polled as often as it is",
		Long:              explainLong,
		Example:           explainExample,
		Args:              cli.WantArgs("CHANNEL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return explainChannel(cmd, &flags, args[0]) },
	}
	flags.Add(cmd)
	return cmd
}

func explainChannel(cmd *cobra.Command, flags *cli.NodeFlags, name string) error {
	id, err := cli.ParseChannel(name)
	if err != nil {
		return err
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	why, err := client.Explain(cmd.Context(), id)
	if err != nil {
		return cli.NodeError(fmt.Errorf("%s: %w", name, err))
	}
	if flags.JSON {
		return cli.PrintJSON(cmd.OutOrStdout(), why)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	explanation{&why}.print(out)
	return out.Flush()
}

// explanation is one in words.
type explanation struct{ *api.Explanation }
