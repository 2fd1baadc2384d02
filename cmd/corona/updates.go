package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const updatesLong = `Print the updates of a channel that are kept, oldest first: the latest 16
versions at least. CHANNEL is an ID (40 hex digits) or a URL. An update says
when it was detected, which entries were added (+), changed (~) and withdrawn
(-), how the core content differs from the version before, and what of it is passed
over as noise.`

const updatesExample = `  corona updates https://blog.rust-lang.org/feed.xml
  corona updates https://blog.rust-lang.org/feed.xml --after 41
  corona updates b559c7edd3fb67374c1a25e739cdd7edd1d79949 --json | jq '.updates[].entries.added[].title'`

func newUpdatesCommand() *cobra.Command {
	var flags cli.NodeFlags
	var after uint64
	cmd := &cobra.Command{
		Use:               "updates CHANNEL",
		Short:             "Print the updates of a channel that are kept",
		Long:              updatesLong,
		Example:           updatesExample,
		Args:              cli.WantArgs("CHANNEL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return listUpdates(cmd, &flags, args[0], after) },
	}
	flags.Add(cmd)
	cmd.Flags().Uint64Var(&after, "after", 0, "only versions above `V`")
	return cmd
}

func listUpdates(cmd *cobra.Command, flags *cli.NodeFlags, name string, after uint64) error {
	id, err := cli.ParseChannel(name)
	if err != nil {
		return err
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	list := newUpdateList(cmd.OutOrStdout(), flags.JSON, name, after)
	for page, err := range client.Updates(cmd.Context(), id, after) {
		if err != nil {
			return cli.NodeError(fmt.Errorf("%s: %w", name, err))
		}
		if err := list.Add(page); err != nil {
			return err
		}
	}
	return list.Close()
}

// errOvertaken says that a gap opened between two pages, which one "gap" field
// behind the list cannot tell.
var errOvertaken = errors.New("updates were dropped while they were read: run it again")

// newUpdateList prints pages of updates as they come.
func newUpdateList(w io.Writer, asJSON bool, name string, after uint64) cli.RowList[api.Updates] {
	if !asJSON {
		return newUpdateTexts(w, name, after)
	}
	rows := cli.NewJSONList(w, "updates")
	var rest struct {
		Gap *api.Gap `json:"gap,omitempty"`
	}
	return cli.RowList[api.Updates]{
		Close: func() error { return rows.Close(rest) },
		Add: func(page api.Updates) error {
			if page.Gap != nil {
				if rows.Items > 0 {
					return cli.NodeError(errOvertaken)
				}
				rest.Gap = page.Gap
			}
			for _, update := range page.Updates {
				if err := rows.Add(update); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newUpdateTexts(w io.Writer, name string, after uint64) cli.RowList[api.Updates] {
	printer := cli.NewUpdatePrinter(w)
	some := false
	return cli.RowList[api.Updates]{
		Add: func(page api.Updates) error {
			some = true
			if page.Gap != nil {
				if err := printer.Gap(name, page.Gap.From, page.Gap.To, "no longer kept"); err != nil {
					return err
				}
			}
			for _, update := range page.Updates {
				if err := printer.Update(&update); err != nil {
					return err
				}
			}
			return nil
		},
		Close: func() error {
			if some {
				return nil
			}
			_, err := fmt.Fprintf(w, "no updates above version %d so far\n", max(after, 1))
			return err
		},
	}
}
