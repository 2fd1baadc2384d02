package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// bindPlan binds the settings that rates are solved for with.
func bindPlan(flags *pflag.FlagSet, config *corona.Config) {
	flags.Var(cli.NamedValue(&config.Policy, honeycomb.ParsePolicy), "policy", "what rates are best at: lite, fast, fair, fair-sqrt or fair-log")
	positiveDuration(flags, &config.Target, "target", 0, "mean wait of a change to reach, for policy fast")
	flags.Var(cli.BudgetValue(&config.Budget), "budget", "most load on origins per interval: auto, or a number of polls or bytes; auto is what the subscribers would cause alone")
	flags.Var(cli.NamedValue(&config.Cost, honeycomb.ParseCost), "cost", "what the budget is of: polls or bytes")
	flags.Var(cli.NamedValue(&config.Ladder, honeycomb.ParseLadder), "ladder", "rates there are: any, prefix:BASE or geometric:FACTOR")
	positiveDuration(flags, &config.Maintenance, "maintenance", 10*time.Minute, "time between two solves of all rates; what changes meanwhile is solved for within seconds")
}
