// Package backups is corona backup and corona restore: all that a cluster has acknowledged
// in one file, and a fresh cluster from it.
package backups

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/datadir"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
)

const backupLong = `Write all that the cluster has acknowledged to FILE: subscriptions with their IDs
and sinks, channels with their versions and the updates that are kept, delivery
positions, states of endpoints, idempotency keys. What was acknowledged before the
command began is in it; the cluster goes on meanwhile. Any node of a cluster will do.

The file is checked as it comes, and takes its name only when it is whole: until
then, and after an interruption, an earlier FILE stays as it was. - is standard
output, which "corona restore" checks before it uses it.

FILE holds the secrets of webhooks. It is made with mode 0600: keep it as you keep
the nodes' data directories.`

const backupExample = `  corona backup corona-$(date +%F).backup
  corona backup - | ssh store 'umask 77; cat > corona.backup'`

// NewBackup returns corona backup.
func NewBackup() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:     "backup FILE",
		Short:   "Write all that the cluster has acknowledged to a file",
		Long:    backupLong,
		Example: backupExample,
		Args:    cli.WantArgs("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runBackup(cmd, &flags, args[0]) },
	}
	flags.Add(cmd)
	return cmd
}

func runBackup(cmd *cobra.Command, flags *cli.NodeFlags, path string) error {
	begun := time.Now()
	if path == "-" && flags.JSON {
		return errors.New("--json and the backup itself cannot both be standard output")
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	to, err := createFile(cmd, path)
	if err != nil {
		return err
	}
	defer to.discard()
	from, err := client.Backup(cmd.Context())
	if err != nil {
		return cli.NodeError(err)
	}
	defer from.Close()
	progress := newProgress(cmd.ErrOrStderr(), to.name)
	summary, err := backup.Check(io.TeeReader(from, to), progress.tell)
	progress.close()
	switch {
	case to.failed != nil:
		return to.failed
	case cmd.Context().Err() != nil:
		return cli.NodeError(cmd.Context().Err())
	case err != nil:
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("the node broke off: %w", err))
	}
	if err := to.keep(); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if path == "-" {
		out = cmd.ErrOrStderr()
	}
	return report(out, flags.JSON, result{path, to.size, time.Since(begun).Seconds(), view(summary)})
}

// result is what either command prints for programs.
type result struct {
	File      string  `json:"file"`
	FileBytes int64   `json:"file_bytes"`
	Seconds   float64 `json:"s"`
	api.Restored
}

func report(out io.Writer, asJSON bool, r result) error {
	if asJSON {
		return cli.PrintJSON(out, r)
	}
	_, err := fmt.Fprintf(out, "%s: %d channels, %d subscriptions, %d updates, %d failing endpoints of cluster %s at %s; %s in %.1f s\n", cli.Clean(r.File),
		r.Channels, r.Subscriptions, r.Updates, r.Endpoints, r.Cluster, r.Begun.Format(time.RFC3339), megabytes(r.FileBytes), r.Seconds)
	return err
}

func view(s backup.Summary) api.Restored {
	return api.Restored{
		Cluster: s.Cluster, Begun: s.Begun, Program: s.Program, Ranges: s.Ranges, Channels: s.Channels, Subscriptions: s.Subscriptions,
		Updates: s.Updates, Endpoints: s.Endpoints, Positions: s.Positions, Keys: s.Keys, Records: s.Records, Bytes: s.Bytes,
	}
}

// newFile is a file that gets its name when it is whole, or standard output.
type newFile struct {
	to     io.Writer
	name   string
	path   string   // empty: standard output
	file   *os.File // under another name; nil for none
	size   int64
	failed error // of a write
}

func createFile(cmd *cobra.Command, path string) (*newFile, error) {
	if path == "-" {
		if cli.IsTerminal(cmd.OutOrStdout()) {
			return nil, errors.New("a backup is nothing for a terminal: name a file, or redirect standard output")
		}
		return &newFile{to: cmd.OutOrStdout(), name: "standard output"}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is there, and is no file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return nil, err
	}
	return &newFile{to: file, name: path, path: path, file: file}, nil
}

func (f *newFile) Write(content []byte) (int, error) {
	n, err := f.to.Write(content)
	f.size += int64(n)
	if err != nil {
		f.failed = fmt.Errorf("write %s: %w", f.name, err)
	}
	return n, err
}

// keep gives the file its name, durably.
func (f *newFile) keep() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	err := errors.Join(file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	f.file = nil
	return datadir.SyncDir(filepath.Dir(f.path))
}

// discard removes a file that was not kept.
func (f *newFile) discard() {
	if f.file != nil {
		f.file.Close()
		os.Remove(f.file.Name())
	}
}
