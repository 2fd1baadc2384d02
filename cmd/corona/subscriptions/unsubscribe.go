package subscriptions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const unsubscribeLong = `End subscriptions. Ending one twice is no error. An ID that never existed is an
error and stops the command: those before it in the list have ended.`

const unsubscribeExample = `  corona unsubscribe sub_aeaqcaibaeaq
  corona subscriptions --json | jq -r '.subscriptions[] | select(.state == "disabled") | .id' | xargs corona unsubscribe`

func NewUnsubscribe() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "unsubscribe ID…",
		Short:             "End subscriptions",
		Long:              unsubscribeLong,
		Example:           unsubscribeExample,
		Args:              cli.WantArgs("ID…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return unsubscribe(cmd, &flags, args) },
	}
	flags.Add(cmd)
	return cmd
}

func unsubscribe(cmd *cobra.Command, flags *cli.NodeFlags, ids []string) error {
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	done := []string{}
	for _, id := range ids {
		if err = client.Unsubscribe(cmd.Context(), id); err != nil {
			err = cli.NodeError(fmt.Errorf("%s: %w", id, err))
			break
		}
		done = append(done, id)
		if flags.JSON {
			continue
		}
		if _, err = fmt.Fprintf(cmd.OutOrStdout(), "unsubscribed %s\n", cli.Clean(id)); err != nil {
			break
		}
	}
	if flags.JSON {
		return errors.Join(err, cli.PrintJSON(cmd.OutOrStdout(), map[string][]string{"unsubscribed": done}))
	}
	return err
}
