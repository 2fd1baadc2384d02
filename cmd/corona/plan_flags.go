package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// bindPlan binds the settings that rates are solved for with.
func bindPlan(flags *pflag.FlagSet, config *corona.Config) {
	flags.Var(named[honeycomb.Policy]{&config.Policy, honeycomb.ParsePolicy}, "policy", "what rates are best at: lite, fast, fair, fair-sqrt or fair-log")
	positiveDuration(flags, &config.Target, "target", 0, "mean wait of a change to reach, for policy fast")
	flags.Var(budget{&config.Budget}, "budget", "most load on origins per interval: auto, or a number of polls or bytes; auto is what the subscribers would cause alone")
	flags.Var(named[honeycomb.Cost]{&config.Cost, honeycomb.ParseCost}, "cost", "what the budget is of: polls or bytes")
	flags.Var(named[honeycomb.Ladder]{&config.Ladder, honeycomb.ParseLadder}, "ladder", "rates there are: any, prefix:BASE or geometric:FACTOR")
	positiveDuration(flags, &config.Maintenance, "maintenance", 10*time.Minute, "time between two solves of all rates; what changes meanwhile is solved for within seconds")
}

// named is the value of a flag that another package reads, by names.
type named[T fmt.Stringer] struct {
	value *T
	parse func(string) (T, error)
}

func (n named[T]) String() string { return (*n.value).String() }

func (n named[T]) Set(text string) (err error) {
	*n.value, err = n.parse(text)
	return err
}

func (named[T]) Type() string { return "string" }

// budget is the value of --budget; 0 is auto.
type budget struct{ most *float64 }

func (b budget) String() string {
	if *b.most == 0 {
		return "auto"
	}
	return strconv.FormatFloat(*b.most, 'g', -1, 64)
}

const wantBudget wanted = "want auto, or a number above 0"

func (b budget) Set(text string) error {
	most, err := 0.0, error(nil)
	if text != "auto" {
		most, err = strconv.ParseFloat(text, 64)
		if err != nil || !(most > 0) || math.IsInf(most, 0) {
			return wantBudget
		}
	}
	*b.most = most
	return nil
}

func (budget) Type() string { return "auto|number" }
