// Package lists is corona import and corona export: lists of URLs, as OPML or one URL a
// line, that become subscriptions and come from channels.
package lists

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const importLong = `Subscribe to every URL of a list: OPML, as feed readers export it, or one URL a
line (empty lines and lines that begin with # are passed over). - is standard
input. What is refused is named with its line and the reason; the rest is
subscribed to all the same, and the exit code is 1.

When the connection breaks, or the node refuses for now, what was not subscribed
is asked for again after a second, then two, and so on up to half a minute. When
the node has taken nothing for --retry-for, import ends with exit code 3, or with 1
if all that is left of the list was refused; when its disk is nearly full, at once.

After an interruption run it again: a URL that has a subscription with the same
sink, made by an import or not, gets no other and is counted as subscribed before.
One that was unsubscribed meanwhile is subscribed again. Where standard error is no
terminal, a long import prints its progress there once a second.

` + cli.SinkHelp

const importExample = `  corona import feeds.opml
  corona import feeds.txt --sink webhook:https://example.com/hook
  curl -s http://127.0.0.1:9100/_channels | corona import -`

// defaultRetryFor is how long a node may take nothing: a restart, or an election,
// is over by then.
const defaultRetryFor = 2 * time.Minute

type importFlags struct {
	node     cli.NodeFlags
	sink     cli.SinkFlags
	retryFor time.Duration
}

func NewImport() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Subscribe to every URL of an OPML file or a list",
		Long:    importLong,
		Example: importExample,
		Args:    cli.WantArgs("FILE"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"opml", "xml", "txt"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	flags.node.Add(cmd)
	flags.sink.Add(cmd)
	cmd.Flags().DurationVar(&flags.retryFor, "retry-for", defaultRetryFor, "how long to go on while the node takes nothing; 0: not at all")
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, path string) error {
	sink, err := f.sink.Parse()
	if err != nil {
		return err
	}
	list, name, size, err := openList(cmd, path)
	if err != nil {
		return err
	}
	defer list.Close()
	client, err := f.node.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	tally := &importTally{}
	progress := newImportProgress(cmd.ErrOrStderr(), name, size, tally)
	report := newImportReport(cmd.OutOrStdout(), progress, name, f.node.JSON)
	imp := &importer{
		client: client, sink: sink, tally: tally, progress: progress, report: report,
		retries: newRetries(f.retryFor, pause), begun: time.Now(),
	}
	err = imp.run(cmd.Context(), name, readList(list))
	progress.close()
	if reportErr := report.close(tally); reportErr != nil {
		return reportErr
	}
	if err == nil && tally.refused.Load() > 0 {
		return cli.Exit(cli.ExitNo, nil)
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
