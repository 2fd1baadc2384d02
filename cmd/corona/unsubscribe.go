package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

const unsubscribeLong = `End subscriptions. Ending one again is no error; an ID that never existed is.
Those before it in the list are ended all the same.`

const unsubscribeExample = `  corona unsubscribe sub_aeaqcaibaeaq
  corona subscriptions --json | jq -r '.subscriptions[] | select(.state == "disabled") | .id' | xargs corona unsubscribe`

func newUnsubscribeCommand() *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:               "unsubscribe ID…",
		Short:             "End subscriptions",
		Long:              unsubscribeLong,
		Example:           unsubscribeExample,
		Args:              wantArgs("ID…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return unsubscribe(cmd, &flags, args) },
	}
	flags.add(cmd)
	return cmd
}

func unsubscribe(cmd *cobra.Command, flags *nodeFlags, ids []string) error {
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	done := []string{}
	for _, id := range ids {
		if err = client.Unsubscribe(cmd.Context(), id); err != nil {
			err = nodeError(fmt.Errorf("%s: %w", id, err))
			break
		}
		done = append(done, id)
		if flags.json {
			continue
		}
		if _, err = fmt.Fprintf(cmd.OutOrStdout(), "unsubscribed %s\n", clean(id)); err != nil {
			break
		}
	}
	if flags.json {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), map[string][]string{"unsubscribed": done}))
	}
	return err
}
