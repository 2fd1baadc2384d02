package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/deltas"
)

const coreLong = `Print a document's core content: what Corona compares from poll to poll. Feeds,
HTML, JSON and text become lines, less what changes without meaning: build
stamps, the order of entries, scripts, hidden parts, form tokens, tracking
parameters. Line numbers of "corona diff" count these lines.

The type is found from the content; --type overrules it. --url says where the
document came from, so that relative links can be resolved. FILE may be "-" for
standard input.

--json prints one object: the kind, a hash that is the same as long as nothing of
meaning changes, sizes, the entries and the core content as "text".`

const coreExample = `  corona core feed.xml
  corona core feed.xml --json | jq -r '.entries[].title'
  curl -s https://blog.rust-lang.org/feed.xml | corona core - --url https://blog.rust-lang.org/feed.xml
  diff <(corona core old.html) <(corona core new.html)`

func newCoreCommand() *cobra.Command {
	var flags documentFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "core FILE",
		Short:   "Print a document's core content",
		Long:    coreLong,
		Example: coreExample,
		Args:    cli.WantArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			core, size, err := flags.read(cmd, args[0])
			if err != nil {
				return err
			}
			return printCore(cmd.OutOrStdout(), core, coreResult{DocumentBytes: size}, asJSON)
		},
	}
	flags.add(cmd)
	cli.AddJSON(cmd, &asJSON)
	return cmd
}

// coreResult is what --json prints of core content, beside the size of what it was
// made from.
type coreResult struct {
	Kind          string         `json:"kind"`
	Title         string         `json:"title,omitempty"`
	FeedURL       string         `json:"feed_url,omitempty"` // the feed that an HTML page names
	Hash          string         `json:"hash"`               // 32 hex digits, of text
	DocumentBytes int            `json:"document_bytes,omitempty"`
	DeltaBytes    int            `json:"delta_bytes,omitempty"`
	CoreBytes     int            `json:"core_bytes"`
	Entries       []deltas.Entry `json:"entries"`
	Text          string         `json:"text"`
}

// printCore prints core content: as it is, or as JSON with what madeOf says.
func printCore(w io.Writer, core *deltas.Core, madeOf coreResult, asJSON bool) error {
	content := core.Content()
	if !asJSON {
		_, err := w.Write(content)
		return err
	}
	result := madeOf
	result.Kind, result.Title, result.FeedURL = core.Kind.String(), core.Title, core.FeedURL
	result.Hash, result.CoreBytes, result.Text = core.Hash.String(), len(content), string(content)
	result.Entries = append([]deltas.Entry{}, core.Entries...) // [] where there are none
	return cli.PrintJSON(w, result)
}

// inputs are the arguments of a command that reads files. Standard input can be one
// of them.
func inputs(words ...string) cobra.PositionalArgs {
	return cobra.MatchAll(cli.WantArgs(words...), func(cmd *cobra.Command, args []string) error {
		if rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" }); len(args)-len(rest) > 1 {
			return cli.FlagError(cmd, fmt.Errorf("%s: only one can be standard input", strings.Join(words, " and ")))
		}
		return nil
	})
}

// documentFlags say how to read a document from a file.
type documentFlags struct {
	kind string
	url  string
}

const autoKind = "auto"

func (f *documentFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kind, "type", autoKind, "`type` of the document: auto, feed, html, json or text")
	cmd.Flags().StringVar(&f.url, "url", "", "`URL` that it came from, to resolve links against")
	kinds := []string{autoKind, "feed", "html", "json", "text"}
	if err := cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was defined above
	}
}

// read returns the core content of a file, or of standard input for "-", and
// the file's length in bytes.
func (f *documentFlags) read(cmd *cobra.Command, path string) (*deltas.Core, int, error) {
	if err := cli.CheckBase(f.url); err != nil {
		return nil, 0, err
	}
	doc := deltas.Document{URL: f.url}
	if f.kind != autoKind {
		kind, err := deltas.ParseKind(f.kind)
		if err != nil {
			return nil, 0, fmt.Errorf("--type: %w, or auto", err)
		}
		doc.Kind = kind
	}
	var err error
	if doc.Body, err = readInput(cmd, path, deltas.MaxDocument); err != nil {
		return nil, 0, err
	}
	core, err := deltas.Extract(doc)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return core, len(doc.Body), nil
}

// readInput returns the content of a file of at most limit bytes, or of standard
// input for "-".
func readInput(cmd *cobra.Command, path string, limit int64) ([]byte, error) {
	if path != "-" {
		return cli.ReadFile(path, limit)
	}
	content, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("standard input is longer than %d bytes", limit)
	}
	return content, nil
}
