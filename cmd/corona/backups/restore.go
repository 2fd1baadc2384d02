package backups

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
)

const restoreLong = `Make a fresh cluster what a backup holds. The whole file is read and checked first:
one that is cut, damaged or of another version is refused with exit code 2, and
nothing has changed. So is a cluster that has, or had, subscriptions, with exit
code 1. - is standard input. The cluster may have another number of nodes and ranges
than the one that was backed up.

Subscriptions keep their IDs, channels their versions, deliveries go on where they
were. Streams get a reset: cursors are of the cluster that gave them. What the old
cluster acknowledged after the backup is lost; IDs that it gave out since are not
given again. Stop the old cluster first: both would deliver.

Until all is restored the cluster refuses to subscribe and unsubscribe (503). After
an interruption run the command again with the same file: it goes on.`

const restoreExample = `  corona restore corona-2026-11-24.backup
  ssh store cat corona.backup | corona restore - --server http://10.0.0.7:8410`

// NewRestore returns corona restore.
func NewRestore() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:     "restore FILE",
		Short:   "Make a fresh cluster what a backup holds",
		Long:    restoreLong,
		Example: restoreExample,
		Args:    cli.WantArgs("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRestore(cmd, &flags, args[0]) },
	}
	flags.Add(cmd)
	return cmd
}

func runRestore(cmd *cobra.Command, flags *cli.NodeFlags, path string) error {
	begun := time.Now()
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	file, name, done, err := openFile(cmd, path)
	if err != nil {
		return err
	}
	defer done()
	summary, err := check(cmd, file, name)
	if err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	progress := newProgress(cmd.ErrOrStderr(), name)
	restored, err := client.Restore(cmd.Context(), &upload{from: file, of: size, summary: summary, progress: progress})
	progress.close()
	if err != nil {
		return refusal(err)
	}
	return report(cmd.OutOrStdout(), flags.JSON, result{path, size, time.Since(begun).Seconds(), restored})
}

// refusal says what a restore that failed has left.
func refusal(err error) error {
	var problem *api.Problem
	switch refused := errors.As(err, &problem); {
	case refused && problem.Status == http.StatusConflict:
		return cli.Exit(cli.ExitNo, cli.Explain(err))
	case refused && !problem.Retryable && problem.Status != http.StatusBadRequest: // that was damaged on its way
		return cli.NodeError(err)
	}
	return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%w; run it again with the same file to go on", cli.Explain(err)))
}

// check reads the whole file.
func check(cmd *cobra.Command, file *os.File, name string) (backup.Summary, error) {
	progress := newProgress(cmd.ErrOrStderr(), "checking "+name)
	summary, err := backup.Check(interruptible{cmd.Context(), file}, progress.tell)
	progress.close()
	if cmd.Context().Err() != nil {
		return summary, cli.Exit(cli.ExitUnreachable, errors.New("interrupted; nothing was sent"))
	}
	if err != nil {
		return summary, fmt.Errorf("%s: %w", name, err)
	}
	return summary, nil
}

// openFile opens the backup; standard input is copied to a file that done removes.
func openFile(cmd *cobra.Command, path string) (file *os.File, name string, done func(), err error) {
	if path != "-" {
		file, err = os.Open(path)
		return file, path, func() { file.Close() }, err
	}
	if file, err = os.CreateTemp("", "corona-restore-*"); err != nil {
		return nil, "", nil, err
	}
	done = func() {
		file.Close()
		os.Remove(file.Name())
	}
	if _, err = io.Copy(file, cmd.InOrStdin()); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, "", nil, fmt.Errorf("copy standard input: %w", err)
	}
	return file, "standard input", done, nil
}
