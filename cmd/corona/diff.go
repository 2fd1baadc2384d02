package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/deltas"
)

const diffLong = `Compare two versions of a document as Corona does: by their core content (see
"corona core"), so that a build stamp, another order of entries or a new asset
hash is no difference. Prints what happened to entries and the changed lines;
with --json counts and operations on the lines of OLD's core content: "add"
behind a line, "omit" or "replace" from a line on.

--out writes a delta, from which "corona patch" makes NEW's core content.
OLD or NEW may be "-" for standard input.

Exit code 0: no germane difference; 1: there is one.`

const diffExample = `  corona diff yesterday.xml today.xml
  curl -s https://example.com/terms | corona diff terms.html - && echo "nothing new"
  corona diff old.html new.html --out delta; corona patch old.html delta`

type diffFlags struct {
	documentFlags
	out  string
	json bool
}

func newDiffCommand() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:     "diff OLD NEW",
		Short:   "Compare two versions of a document by what they say",
		Long:    diffLong,
		Example: diffExample,
		Args:    inputs("OLD", "NEW"),
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0], args[1]) },
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.out, "out", "", "write the delta to a `file`")
	cli.AddJSON(cmd, &flags.json)
	return cmd
}

// diffResult is what --json prints.
type diffResult struct {
	Germane    bool        `json:"germane"`
	Kind       string      `json:"kind"`
	Entries    entryCounts `json:"entries"`
	Ops        []deltas.Op `json:"ops"`
	OldBytes   int         `json:"old_bytes"`
	NewBytes   int         `json:"new_bytes"`
	CoreBytes  int         `json:"core_bytes"` // of NEW's core content
	DeltaBytes int         `json:"delta_bytes"`
}

type entryCounts struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

func (f *diffFlags) run(cmd *cobra.Command, oldPath, newPath string) error {
	base, oldBytes, err := f.read(cmd, oldPath)
	if err != nil {
		return err
	}
	next, newBytes, err := f.read(cmd, newPath)
	if err != nil {
		return err
	}
	update := deltas.Compare(base, next)
	if f.out != "" {
		if err := os.WriteFile(f.out, update.Delta, 0o644); err != nil {
			return err
		}
	}
	result := diffResult{
		Germane: deltas.Germane(base, next), Kind: next.Kind.String(), Ops: deltas.Ops(base, next),
		Entries:  entryCounts{len(update.Entries.Added), len(update.Entries.Changed), len(update.Entries.Removed)},
		OldBytes: oldBytes, NewBytes: newBytes, CoreBytes: len(next.Content()), DeltaBytes: update.DeltaBytes,
	}
	if err := f.print(cmd.OutOrStdout(), result, update); err != nil {
		return err
	}
	if result.Germane {
		return cli.Exit(cli.ExitNo, nil)
	}
	return nil
}

// print prints a difference; nothing, as diff(1), when it is none to speak of.
func (f *diffFlags) print(w io.Writer, result diffResult, update *deltas.Update) error {
	if f.json {
		return cli.PrintJSON(w, result)
	}
	if !result.Germane {
		return nil
	}
	p := cli.NewUpdatePrinter(w)
	p.Changes(update.Entries, update.Diff, update.Truncated)
	return p.Line(fmt.Sprintf("%s: %d bytes of delta for a document of %d", result.Kind, result.DeltaBytes, result.NewBytes))
}
