package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

const importLong = `Subscribe to every URL of a list: OPML, as feed readers export it, or one URL a
line (empty lines and lines that begin with # are passed over). - is standard
input. What is refused is named with its line and the reason; the rest is
subscribed to all the same, and the exit code is 1.

The list may be imported again, whole or after an interruption: within 24 hours
the same URL and sink give the same subscription.

` + sinkHelp

const importExample = `  corona import feeds.opml
  corona import feeds.txt --sink webhook:https://example.com/hook
  curl -s http://127.0.0.1:9100/_channels | corona import -`

// importBlock is how many entries are sent in one request, and are in memory.
const importBlock = 5000

type importFlags struct {
	node nodeFlags
	sink sinkFlags
}

func newImportCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Subscribe to every URL of an OPML file or a list",
		Long:    importLong,
		Example: importExample,
		Args:    wantArgs("FILE"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"opml", "xml", "txt"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	flags.node.add(cmd)
	flags.sink.add(cmd)
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, path string) error {
	sink, err := f.sink.parse()
	if err != nil {
		return err
	}
	list, name, size, err := openList(cmd, path)
	if err != nil {
		return err
	}
	defer list.Close()
	client, err := f.node.client()
	if err != nil {
		return err
	}
	defer client.Close()
	tally := &importTally{}
	progress := newImportProgress(cmd.ErrOrStderr(), name, size, tally)
	imp := &importer{client: client, sink: sink, tally: tally, progress: progress}
	imp.report = newImportReport(cmd.OutOrStdout(), progress, name, f.node.json)
	err = imp.run(cmd.Context(), name, readList(list))
	progress.close()
	if reportErr := imp.report.close(tally); reportErr != nil {
		return reportErr
	}
	if err == nil && tally.refused.Load() > 0 {
		return &exitError{code: exitNo}
	}
	return err
}

// openList opens a list, - being standard input. size is 0 when it is not known.
func openList(cmd *cobra.Command, path string) (list io.ReadCloser, name string, size int64, err error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), "standard input", 0, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", path)
	}
	if err != nil {
		file.Close()
		return nil, "", 0, err
	}
	return file, path, info.Size(), nil
}

// importer subscribes to what a list holds.
type importer struct {
	client   *api.Client
	sink     api.Sink
	tally    *importTally
	progress *importProgress
	report   importReport
}

func (imp *importer) run(ctx context.Context, name string, list iter.Seq2[listEntry, error]) error {
	block := make([]importEntry, 0, importBlock)
	for entry, err := range list {
		if err != nil {
			return errors.Join(imp.send(ctx, block), fmt.Errorf("%s:%d: %w", name, entry.line, err))
		}
		block = append(block, imp.check(entry))
		if len(block) == importBlock {
			if err := imp.send(ctx, block); err != nil {
				return err
			}
			block = block[:0]
		}
	}
	return imp.send(ctx, block)
}

// importEntry is an entry of a list and what is asked of the node for it, or why
// nothing is.
type importEntry struct {
	listEntry
	request api.SubscribeRequest
	problem *api.Problem
}

func (imp *importer) check(entry listEntry) importEntry {
	if entry.reason != "" {
		return importEntry{listEntry: entry, problem: api.BadField("url", entry.reason)}
	}
	canonical, err := channel.Canonical(entry.url)
	var urlErr *channel.URLError
	if errors.As(err, &urlErr) {
		return importEntry{listEntry: entry, problem: api.BadField("url", urlErr.Reason)}
	}
	request := api.SubscribeRequest{URL: canonical, Sink: imp.sink, Key: importKey(canonical, imp.sink)}
	return importEntry{listEntry: entry, request: request}
}

// importKey is the idempotency key of a URL and a sink: the same in each import.
func importKey(canonical string, sink api.Sink) string {
	sum := sha256.Sum256([]byte(sink.Type + "\n" + sink.URL + "\n" + canonical))
	return "import-" + hex.EncodeToString(sum[:16])
}

// send asks the node for the entries of a block that can be asked for and
// reports all of them in their order.
func (imp *importer) send(ctx context.Context, block []importEntry) error {
	rest := imp.refuse(block)
	if len(rest) == 0 {
		return nil
	}
	for result, err := range imp.client.Batch(ctx, requests(slices.Clone(rest))) {
		if err != nil {
			return nodeError(fmt.Errorf("%w; what is subscribed stays, import again for the rest", explain(err)))
		}
		if len(rest) == 0 {
			continue // more results than requests: Batch says so at the end
		}
		imp.done(rest[0], result.Error)
		rest = imp.refuse(rest[1:])
	}
	return nil
}

// refuse reports the entries at the beginning of a block that cannot be asked
// for and returns the others.
func (imp *importer) refuse(block []importEntry) []importEntry {
	for len(block) > 0 && block[0].problem != nil {
		imp.done(block[0], block[0].problem)
		block = block[1:]
	}
	return block
}

func requests(block []importEntry) iter.Seq[api.SubscribeRequest] {
	return func(yield func(api.SubscribeRequest) bool) {
		for _, entry := range block {
			if entry.problem == nil && !yield(entry.request) {
				return
			}
		}
	}
}

func (imp *importer) done(entry importEntry, problem *api.Problem) {
	imp.tally.add(problem)
	imp.progress.at(entry.end)
	if problem != nil {
		imp.report.refused(entry.listEntry, problem)
	}
}
