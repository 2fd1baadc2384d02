// Package truth is the load generator's own plan. It knows how many subscribers each
// channel has, how often it changes and what the nodes were told to optimise, solves with
// package honeycomb itself, and says how long changes should wait. Everything in it is a
// pure function.
package truth

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// reserve is the part of a host's cap that nodes keep for first polls, retries and
// redirects.
const reserve = 0.05

// Settings are what nodes were told that decides about rates.
type Settings struct {
	honeycomb.Config
	HostGap  time.Duration // 0: none
	Parallel int           // requests to a host at a time
	Contact  string        // what nodes tell publishers; empty: their own
}

// The defaults of corona serve.
const (
	defaultInterval = 30 * time.Minute
	defaultFloor    = 5 * time.Minute
	defaultParallel = 2
)

// ParseArgs reads the settings from arguments of corona serve, for so many nodes with an
// address each. Other arguments are passed over.
func ParseArgs(args []string, nodes int) (Settings, error) {
	s := Settings{Config: honeycomb.Config{Nodes: nodes}}
	set := pflag.NewFlagSet("nodes.args", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.ParseErrorsWhitelist.UnknownFlags = true
	set.DurationVar(&s.Interval, "interval", defaultInterval, "")
	set.DurationVar(&s.Floor, "floor", 0, "")
	set.DurationVar(&s.Target, "target", 0, "")
	set.DurationVar(&s.HostGap, "host-gap", 0, "")
	set.IntVar(&s.Parallel, "host-parallel", defaultParallel, "")
	set.StringVar(&s.Contact, "contact", "", "")
	policy, ladder := set.String("policy", "lite", ""), set.String("ladder", "any", "")
	cost, budget := set.String("cost", "polls", ""), set.String("budget", "auto", "")
	if err := set.Parse(args); err != nil {
		return s, fmt.Errorf("nodes.args: %w", err)
	}
	if err := s.read(*policy, *ladder, *cost, *budget); err != nil {
		return s, fmt.Errorf("nodes.args: %w", err)
	}
	return s, nil
}

// read completes the settings from their texts.
func (s *Settings) read(policy, ladder, cost, budget string) (err error) {
	if s.Floor == 0 {
		s.Floor = min(defaultFloor, s.Interval)
	}
	if s.HostGap > 0 {
		s.HostCap = float64(s.Interval) / float64(s.HostGap) * (1 - reserve)
	}
	if s.Policy, err = honeycomb.ParsePolicy(policy); err != nil {
		return err
	}
	if s.Ladder, err = honeycomb.ParseLadder(ladder); err != nil {
		return err
	}
	if s.Cost, err = honeycomb.ParseCost(cost); err != nil {
		return err
	}
	if budget != "auto" {
		if s.Budget, err = strconv.ParseFloat(budget, 64); err != nil {
			return fmt.Errorf("--budget %q: %w", budget, err)
		}
	}
	return s.Validate()
}
