package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

const statusLong = `Print what a node sees of itself and its cluster: members, ranges and their
leaders, how much it polls against what is planned, how long a change waits on
average until it is noticed, what polls meet, and how the optimiser stands: what
it is for, within which budget, and which limits could not be kept.`

const statusExample = `  corona status
  corona status --server http://10.0.0.7:8410
  corona status --json | jq .load.polls_per_s
  corona status --json | jq -e .optimiser.feasible`

func newStatusCommand() *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{
		Use:               "status",
		Short:             "Print what a node sees of itself and its cluster",
		Long:              statusLong,
		Example:           statusExample,
		Args:              wantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return showStatus(cmd, &flags) },
	}
	flags.add(cmd)
	return cmd
}

func showStatus(cmd *cobra.Command, flags *nodeFlags) error {
	client, err := flags.client()
	if err != nil {
		return err
	}
	defer client.Close()
	status, err := client.Status(cmd.Context())
	if err != nil {
		return nodeError(err)
	}
	if flags.json {
		return printJSON(cmd.OutOrStdout(), status)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	printStatus(out, &status)
	return out.Flush()
}

func printStatus(w io.Writer, s *api.Status) {
	fact(w, "node", "%s, corona %s", s.Node, s.Version)
	fact(w, "cluster", "%s: %s", count(len(s.Cluster.Nodes), "node"), strings.Join(s.Cluster.Nodes, ", "))
	fact(w, "ranges", "%s", rangesText(s.Cluster.Ranges))
	fact(w, "channels", "%d", s.Channels)
	fact(w, "subscriptions", "%d", s.Subscriptions)
	fact(w, "polls", "%s", pollsPlanned(s))
	fact(w, "troubles", "%s; %s", count(s.Polling.FailingChannels, "failing channel"), count(s.Polling.RestingHosts, "resting host"))
	fact(w, "detection", "planned %s on average, at best %s", timespan.Seconds(s.Detection.PlannedS), timespan.Seconds(s.Detection.BoundS))
	printOptimiser(w, &s.Optimiser)
}

// pollsPlanned compares what is polled with what is planned. First polls are no part of
// the plan: after an import they may be many times as many.
func pollsPlanned(s *api.Status) string {
	o := &s.Optimiser
	text := fmt.Sprintf("%s a second; per interval of %s %s measured, %s planned", number(s.Load.PollsPerS),
		timespan.Seconds(o.IntervalS), number(math.Round(o.Measured)), number(math.Round(s.Load.PlannedPollsPerInterval)))
	if o.FirstPolls > 0 {
		text += fmt.Sprintf("; besides %s in the last minute", count(o.FirstPolls, "first poll"))
	}
	return text
}

// rangesText says how many ranges there are and which have no leader.
func rangesText(ranges []api.Range) string {
	var leaderless []string
	for _, r := range ranges {
		if r.Leader == "" {
			leaderless = append(leaderless, fmt.Sprint(r.ID))
		}
	}
	if len(leaderless) == 0 {
		return count(len(ranges), "range") + ", each with a leader"
	}
	return fmt.Sprintf("%s, %d without a leader: %s", count(len(ranges), "range"), len(leaderless), strings.Join(leaderless, ", "))
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
