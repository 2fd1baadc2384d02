// Package status is corona status: what a node sees of itself and its cluster.
package status

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

const long = `Print what a node sees of itself and its cluster: members, ranges and their
leaders, polls made and planned, how long a change waits on average until it is
noticed, how polls end, and the optimiser: its policy, its budget, and limits that
could not be kept.`

const example = `  corona status
  corona status --server http://10.0.0.7:8410
  corona status --json | jq .load.polls_per_s
  corona status --json | jq -e .optimiser.feasible`

func NewCommand() *cobra.Command {
	var flags cli.NodeFlags
	cmd := &cobra.Command{
		Use:               "status",
		Short:             "Print what a node sees of itself and its cluster",
		Long:              long,
		Example:           example,
		Args:              cli.WantArgs(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return showStatus(cmd, &flags) },
	}
	flags.Add(cmd)
	return cmd
}

func showStatus(cmd *cobra.Command, flags *cli.NodeFlags) error {
	client, err := flags.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	status, err := client.Status(cmd.Context())
	if err != nil {
		return cli.NodeError(err)
	}
	if flags.JSON {
		return cli.PrintJSON(cmd.OutOrStdout(), status)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	printStatus(out, &status)
	return out.Flush()
}

func printStatus(w io.Writer, s *api.Status) {
	cli.Fact(w, "node", "%s, corona %s", s.Node, s.Version)
	cli.Fact(w, "cluster", "%s: %s", cli.Count(len(s.Cluster.Nodes), "node"), strings.Join(s.Cluster.Nodes, ", "))
	if len(s.Cluster.Members) > 1 {
		for _, m := range s.Cluster.Members {
			cli.Fact(w, "", "%s", memberText(m))
		}
	}
	cli.Fact(w, "ranges", "%s", rangesText(s.Cluster.Ranges))
	cli.Fact(w, "channels", "%d", s.Channels)
	cli.Fact(w, "subscriptions", "%d", s.Subscriptions)
	if s.Uncounted > 0 {
		cli.Fact(w, "", "not counted: those of %s, whose leaders do not answer", cli.Count(s.Uncounted, "range"))
	}
	cli.Fact(w, "polls", "%s", pollsPlanned(s))
	cli.Fact(w, "troubles", "%s; %s", cli.Count(s.Polling.FailingChannels, "failing channel"), cli.Count(s.Polling.RestingHosts, "resting host"))
	cli.Fact(w, "detection", "planned %s on average, at best %s", timespan.Seconds(s.Detection.PlannedS), timespan.Seconds(s.Detection.BoundS))
	printOptimiser(w, &s.Optimiser)
}

// memberText says how a node of several was found last.
func memberText(m api.Member) string {
	text := fmt.Sprintf("%s at %s: %s, leads %s", m.Name, m.Address, m.State, cli.Count(m.Leads, "range"))
	if m.RTTMs != nil {
		text += ", round trip " + cli.Number(*m.RTTMs) + " ms"
	}
	if m.ClockOffsetMs != nil {
		side := "ahead"
		if *m.ClockOffsetMs < 0 {
			side = "behind"
		}
		text += fmt.Sprintf(", its clock %s ms %s", cli.Number(math.Abs(*m.ClockOffsetMs)), side)
	}
	if m.PollsPerS == nil {
		return text + ", does not say what it polls"
	}
	text += fmt.Sprintf(", polls %s, %s a second (%s %% of all)", cli.Count(*m.Channels, "channel"), cli.Number(*m.PollsPerS), cli.Number(100**m.Share))
	if *m.LagS > 0 {
		text += ", " + timespan.Seconds(*m.LagS) + " behind"
	}
	return text
}

// pollsPlanned compares what is polled with what is planned. First polls are no part of
// the plan: after an import they may be many times as many.
func pollsPlanned(s *api.Status) string {
	o := &s.Optimiser
	text := fmt.Sprintf("%s a second; per interval of %s %s measured, %s planned", cli.Number(s.Load.PollsPerS),
		timespan.Seconds(o.IntervalS), cli.Number(math.Round(o.Measured)), cli.Number(math.Round(s.Load.PlannedPollsPerInterval)))
	if o.FirstPolls > 0 {
		text += fmt.Sprintf("; besides %s in the last minute", cli.Count(o.FirstPolls, "first poll"))
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
		return cli.Count(len(ranges), "range") + ", each with a leader"
	}
	return fmt.Sprintf("%s, %d without a leader: %s", cli.Count(len(ranges), "range"), len(leaderless), strings.Join(leaderless, ", "))
}
