package channels

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const forgetLong = `Have a node forget what it has learned of the noise of channels: the numbers and
lines that it passes over since they changed look after look, and the contents that
it takes for variants of one. What "corona explain" names as passed over for that
counts again from the next poll on, until it is learned again; stamps ("Last
updated: …") and controls stay passed over. CHANNEL is an ID (40 hex digits) or a
URL. Forgetting twice is no error. A channel that does not exist is an error and
stops the command there.`

const forgetExample = `  corona forget https://status.example/
  corona explain https://status.example/ --json | jq '.noise'   # what there is to forget`

func NewForget() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "forget CHANNEL…",
		Short:             "Forget what was learned of the noise of channels",
		Long:              forgetLong,
		Example:           forgetExample,
		Args:              cli.WantArgs("CHANNEL…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return forget(cmd, &flags, args) },
	}
	flags.Add(cmd)
	return cmd
}

func forget(cmd *cobra.Command, flags *cli.NodeFlags, names []string) error {
	client, ids, err := dial(flags, names)
	if err != nil {
		return err
	}
	defer client.Close()
	done, err := forgetEach(cmd, flags.JSON, names, each(names, ids, func(id channel.ID) (channel.ID, error) {
		return id, client.Forget(cmd.Context(), id)
	}))
	if flags.JSON {
		return errors.Join(err, cli.PrintJSON(cmd.OutOrStdout(), map[string][]channel.ID{"forgotten": done}))
	}
	return err
}

// forgetEach returns the channels whose noise was forgotten before the first error. It
// prints each for people.
func forgetEach(cmd *cobra.Command, asJSON bool, names []string, forgotten iter.Seq2[channel.ID, error]) (done []channel.ID, err error) {
	done = []channel.ID{}
	for id, err := range forgotten {
		if err != nil {
			return done, cli.NodeError(err)
		}
		done = append(done, id)
		if asJSON {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "forgot the noise of %s\n", cli.Clean(names[len(done)-1])); err != nil {
			return done, err
		}
	}
	return done, nil
}
