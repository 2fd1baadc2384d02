// Package nodes is corona nodes: the nodes of a cluster, what lies on each, and how an
// operator drains and removes them, and recovers what has lost its majority.
package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

const long = `Print the nodes of a cluster: where each listens, how it was found last, how many
replicas of ranges lie on it and how many ranges it leads. A node is alive, suspect
(it has missed an answer), dead (three in a row), draining or removed (until its last
replica is forgotten).`

const example = `  corona nodes
  corona nodes --json | jq -r '.nodes[] | select(.state == "dead").name'
  corona nodes drain n3     # then stop n3, and:
  corona nodes remove n3`

// NewCommand returns corona nodes with its subcommands.
func NewCommand() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "nodes",
		Short:             "Print the nodes of a cluster; drain, remove, split and recover",
		Long:              long,
		Example:           example,
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return list(cmd, &flags) },
	}
	flags.Add(cmd)
	cmd.AddCommand(newDrain(), newUndrain(), newRemove(), newSplit(), newRecover())
	return cmd
}

func list(cmd *cobra.Command, flags *cli.NodeFlags) error {
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	nodes, err := client.Nodes(cmd.Context())
	if err != nil {
		return cli.NodeError(err)
	}
	if flags.JSON {
		return cli.PrintJSON(cmd.OutOrStdout(), nodes)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	printNodes(out, nodes)
	return out.Flush()
}

func printNodes(w io.Writer, nodes api.Nodes) {
	for _, n := range nodes.Nodes {
		at := ""
		if n.Address != "" {
			at = " at " + n.Address
		}
		fmt.Fprintf(w, "%s%s: %s, %s, leads %s\n", n.Name, at, n.State, cli.Count(n.Replicas, "replica"), cli.Count(n.Leads, "range"))
	}
	for _, r := range nodes.Recoveries {
		fmt.Fprintf(w, "recovered at %s: %s\n", r.At.Format(time.RFC3339), outcome(r))
	}
}

const drainLong = `Have a node give its replicas of ranges to other nodes, one after the other, and print
how far that is. The command may be interrupted: the cluster goes on, and the same
command shows how far it is. A node that has been drained answers calls still; stop it
and remove it. A drain that would leave a range with fewer nodes than it should have
replicas is refused.`

const drainExample = `  corona nodes drain n3 && systemctl stop corona    # on n3
  corona nodes drain n3 --json`

func newDrain() *cobra.Command {
	drains := false
	return newChange("drain NAME", "Move everything off a node", drainLong, drainExample, " left",
		(*api.Client).DrainNode, func(nodes api.Nodes, name string) (left int, done bool, err error) {
			left = replicas(nodes, name)
			switch state := stateOf(nodes, name); {
			case state == "draining":
				drains = true
			case drains && state == "alive":
				err = fmt.Errorf("the drain of %s was called off, with %s left", name, cli.Count(left, "replica"))
			}
			return left, left == 0, err
		})
}

const undrainLong = `Call a drain off: the node gets its part of the ranges again, by and by. Of a node
that is not drained it changes nothing.`

func newUndrain() *cobra.Command {
	return newChange("undrain NAME", "Call a drain off", undrainLong, "  corona nodes undrain n3", "",
		(*api.Client).UndrainNode, func(nodes api.Nodes, name string) (int, bool, error) { return replicas(nodes, name), true, nil })
}

const removeLong = `Have a cluster forget a node for ever: one that is dead, or has been drained. What it
had of ranges is made on other nodes, as far as there are enough. When it comes back it
takes part in nothing and deletes what it has; its wiped directory is a new node. The
command may be interrupted: the cluster goes on.`

const removeExample = `  corona nodes remove n3`

func newRemove() *cobra.Command {
	return newChange("remove NAME", "Forget a node that is dead or drained", removeLong, removeExample, " left",
		(*api.Client).RemoveNode, func(nodes api.Nodes, name string) (left int, done bool, err error) {
			for _, n := range nodes.Nodes { // one that is alive has joined under the same name since
				if n.Name == name && n.State != "alive" {
					return n.Replicas, false, nil
				}
			}
			return 0, true, nil
		})
}

// stateOf returns the state of the node of a name, empty if there is none.
func stateOf(nodes api.Nodes, name string) string {
	for _, n := range nodes.Nodes {
		if n.Name == name {
			return n.State
		}
	}
	return ""
}

// replicas counts those on the nodes of a name.
func replicas(nodes api.Nodes, name string) (count int) {
	for _, n := range nodes.Nodes {
		if n.Name == name {
			count += n.Replicas
		}
	}
	return count
}

// progress returns how many replicas a node of a name has still, and whether what is to be done
// with it is done.
type progress func(nodes api.Nodes, name string) (left int, done bool, err error)

// newChange returns a command that changes a node, and shows its progress until it is done: the
// number of replicas, with a suffix.
func newChange(use, short, long, example, suffix string, change func(*api.Client, context.Context, string) error, of progress) *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              cli.WantArgs("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := flags.Client()
			if err != nil {
				return err
			}
			defer client.Close()
			if err := change(client, cmd.Context(), args[0]); err != nil {
				return cli.NodeError(err)
			}
			return follow(cmd, client, &flags, args[0], suffix, of)
		},
	}
	flags.Add(cmd)
	return cmd
}

// lookEvery is the pause between two looks at how far a change is, and patience how long no
// node may answer meanwhile.
const (
	lookEvery = time.Second
	patience  = 30 * time.Second
)

// follow prints how many replicas are on a node whenever that changes, until all is done.
func follow(cmd *cobra.Command, client *api.Client, flags *cli.NodeFlags, name, suffix string, of progress) error {
	ctx, said, answered := cmd.Context(), -1, time.Now()
	for {
		nodes, err := client.Nodes(ctx)
		if err != nil && (ctx.Err() != nil || time.Since(answered) > patience) {
			return cli.NodeError(errors.Join(err, errors.New("the cluster goes on")))
		}
		if err == nil {
			answered = time.Now()
			left, done, err := of(nodes, name)
			if err != nil {
				return cli.NodeError(err)
			}
			if left != said && !flags.JSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s%s\n", name, cli.Count(left, "replica"), suffix)
				said = left
			}
			if done && flags.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), nodes)
			}
			if done {
				return nil
			}
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return cli.NodeError(ctx.Err())
		}
	}
}
