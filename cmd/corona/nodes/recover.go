package nodes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const recoverLong = `Recover ranges whose majority is gone for good: of the replicas that answer, the one
with the newest log becomes the only one, and the cluster makes others of it. What
only the lost replicas had is lost; these have no effect when they come back, and
are deleted.

Without --yes the command says what would be kept and lost, and changes nothing. A
range is refused while a majority of its replicas answers. Where most nodes are gone
the group that knows the cluster (--meta) has to be recovered first: that removes
the nodes which do not answer, for ever. If a lost disk may come back, wait for it.`

const recoverExample = `  corona nodes recover --meta               # what would be lost
  corona nodes recover --meta --yes
  corona nodes recover --range all --yes    # all that have lost their majority
  corona nodes recover --range 7 --json`

// recovering are the flags of corona nodes recover.
type recovering struct {
	cli.NodeFlags
	meta, yes bool
	group     string
}

func newRecover() *cobra.Command {
	var f recovering
	cmd := &cobra.Command{
		Use:   "recover {--meta | --range ID|all} [--yes]",
		Short: "Recover what has lost its majority for good",
		Long:  recoverLong, Example: recoverExample,
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.meta, "meta", false, "the group that knows the cluster's nodes and ranges")
	cmd.Flags().StringVar(&f.group, "range", "", "`ID` of a range, or all that have lost their majority")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it; else only say what would be done")
	return cmd
}

func (f *recovering) run(cmd *cobra.Command) error {
	if f.meta == (f.group != "") {
		return errors.New("want --meta or --range")
	}
	if _, err := strconv.ParseUint(f.group, 10, 32); !f.meta && f.group != "all" && err != nil {
		return fmt.Errorf("--range %s: want a range's number, or all", f.group)
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	groups, err := f.groups(cmd, client)
	if err != nil {
		return err
	}
	done, failed := []api.Recovery{}, error(nil)
	for _, group := range groups {
		recovery, err := f.one(cmd, client, group)
		switch {
		case f.group == "all" && refused(err): // a majority answers, or no replica
			f.say(cmd.OutOrStdout(), "%s: %s\n", nameOf(group), detail(err))
		case err != nil: // the others may have lost theirs too
			failed = errors.Join(failed, cli.NodeError(fmt.Errorf("%s: %w", nameOf(group), err)))
		default:
			done = append(done, recovery)
			f.print(cmd.OutOrStdout(), recovery)
		}
	}
	if f.JSON {
		return errors.Join(failed, cli.PrintJSON(cmd.OutOrStdout(), map[string][]api.Recovery{"recoveries": done}))
	}
	f.end(cmd.OutOrStdout(), len(done))
	return failed
}

// say prints words, which JSON has none of.
func (f *recovering) say(w io.Writer, format string, args ...any) {
	if !f.JSON {
		fmt.Fprintf(w, format, args...)
	}
}

// detail is why the node refused.
func detail(err error) string {
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Detail != "" {
		return problem.Detail
	}
	return err.Error()
}

// groups returns what is to be recovered.
func (f *recovering) groups(cmd *cobra.Command, client *api.Client) (groups []string, err error) {
	switch {
	case f.meta:
		return []string{api.RangeMeta}, nil
	case f.group != "all":
		return []string{f.group}, nil
	}
	nodes, err := client.Nodes(cmd.Context()) // the status asks leaders, which there may be none of
	for id := range nodes.Ranges {
		groups = append(groups, strconv.Itoa(id))
	}
	return groups, cli.NodeError(err)
}

func (f *recovering) one(cmd *cobra.Command, client *api.Client, group string) (api.Recovery, error) {
	if f.yes {
		return client.Recover(cmd.Context(), group)
	}
	return client.PlanRecovery(cmd.Context(), group)
}

func refused(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusConflict
}

func (f *recovering) print(w io.Writer, r api.Recovery) {
	if f.yes {
		f.say(w, "recovered %s\n", outcome(r))
	} else {
		f.say(w, "%s", planned(r))
	}
}

// planned says what a recovery would do.
func planned(r api.Recovery) string {
	w := new(strings.Builder)
	fmt.Fprintf(w, "%s: no majority; %s left\n", nameOf(r.Range), cli.Count(len(r.Survivors), "replica"))
	for i, s := range r.Survivors {
		kept := ""
		if i == 0 {
			kept = ", which would be kept"
		}
		fmt.Fprintf(w, "  %s: up to entry %d of term %d%s%s\n", s.Node, s.Index, s.Term, newestOf(s), kept)
	}
	fmt.Fprintf(w, "  may be lost: what only %s had\n", strings.Join(r.Lost, ", "))
	if r.Range == api.RangeMeta {
		fmt.Fprintf(w, "  removed for ever: %s\n", strings.Join(r.Lost, ", "))
	}
	return w.String()
}

func (f *recovering) end(w io.Writer, n int) {
	switch {
	case n == 0:
		fmt.Fprintln(w, "nothing was done")
	case !f.yes:
		fmt.Fprintln(w, "nothing was done: --yes does it")
	}
}

func newestOf(s api.Survivor) string {
	if s.Newest == nil {
		return ""
	}
	return ", its newest change of " + s.Newest.Format(time.RFC3339Nano)
}

// outcome says in a few words what a recovery has done.
func outcome(r api.Recovery) string {
	s := r.Survivors[0]
	return fmt.Sprintf("%s from %s, entry %d of term %d%s; given up: %s", nameOf(r.Range), s.Node, s.Index, s.Term, newestOf(s), strings.Join(r.Lost, ", "))
}

func nameOf(group string) string {
	if group == api.RangeMeta {
		return "the meta group"
	}
	return "range " + group
}
