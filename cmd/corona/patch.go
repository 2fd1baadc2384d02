package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/deltas"
)

const patchLong = `Apply a delta that "corona diff --out" wrote, and print the core content that it
makes of OLD: the bytes that "corona core" prints for the NEW of that diff. Give
--type and --url as they were given to "corona diff". OLD or DELTA may be "-" for
standard input.

A delta is bound to the content that it starts from and to its result: another
OLD, or a damaged delta, is refused with exit code 2.

--json prints the object that "corona core --json" prints of NEW, with delta_bytes
instead of document_bytes.`

const patchExample = `  corona diff old.xml new.xml --out delta
  corona patch old.xml delta | cmp - <(corona core new.xml)
  corona patch old.xml delta --json | jq -r .hash`

// maxDeltaFile is the longest delta file, in bytes: content that does not
// compress, and its header.
const maxDeltaFile = deltas.MaxText + 1<<20

func newPatchCommand() *cobra.Command {
	var flags documentFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "patch OLD DELTA",
		Short:   "Apply a delta and print the core content it makes",
		Long:    patchLong,
		Example: patchExample,
		Args:    inputs("OLD", "DELTA"),
		RunE:    func(cmd *cobra.Command, args []string) error { return patch(cmd, &flags, args[0], args[1], asJSON) },
	}
	flags.add(cmd)
	cli.AddJSON(cmd, &asJSON)
	return cmd
}

func patch(cmd *cobra.Command, flags *documentFlags, oldPath, deltaPath string, asJSON bool) error {
	base, _, err := flags.read(cmd, oldPath)
	if err != nil {
		return err
	}
	delta, err := readInput(cmd, deltaPath, maxDeltaFile)
	if err != nil {
		return err
	}
	next, err := deltas.ApplyDelta(base, delta)
	if err != nil {
		return fmt.Errorf("%s, applied to %s: %w", deltaPath, oldPath, err)
	}
	return printCore(cmd.OutOrStdout(), next, coreResult{DeltaBytes: len(delta)}, asJSON)
}
