package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/channel"
)

const forgetLong = `Have a node forget what it has learned of the noise of channels: the numbers and
lines that it passes over since they changed look after look, and the contents that
it takes for variants of one. What "corona explain" names as passed over for that
counts again from the next poll on, until it is learned again; stamps ("Last
updated: …") and controls stay passed over. CHANNEL is an ID (40 hex digits) or a
URL. Once more is no error; a channel that does not exist is, and ends the list
there.`

const forgetExample = `  corona forget https://status.example/
  corona explain https://status.example/ --json | jq '.noise'   # what there is to forget`

func newForgetCommand() *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:               "forget CHANNEL…",
		Short:             "Forget what was learned of the noise of channels",
		Long:              forgetLong,
		Example:           forgetExample,
		Args:              wantArgs("CHANNEL…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return forget(cmd, &flags, args) },
	}
	flags.add(cmd)
	return cmd
}

func forget(cmd *cobra.Command, flags *nodeFlags, names []string) error {
	ids, err := parseChannels(names)
	if err != nil {
		return err
	}
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	done := []channel.ID{}
	for i, id := range ids {
		if err = client.Forget(cmd.Context(), id); err != nil {
			err = nodeError(fmt.Errorf("%s: %w", names[i], err))
			break
		}
		done = append(done, id)
		if flags.json {
			continue
		}
		if _, err = fmt.Fprintf(cmd.OutOrStdout(), "forgot the noise of %s\n", clean(names[i])); err != nil {
			break
		}
	}
	if flags.json {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), map[string][]channel.ID{"forgotten": done}))
	}
	return err
}
