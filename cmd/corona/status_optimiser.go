package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// printOptimiser prints what rates are solved for, and how that stands.
func printOptimiser(w io.Writer, o *api.Optimiser) {
	fact(w, "policy", "%s", policyText(o))
	fact(w, "budget", "%s", budgetText(o))
	if o.Capacity != nil {
		fact(w, "capacity", "%s %s per interval: this node cannot keep up with more", number(math.Round(*o.Capacity)), o.Cost)
	}
	fact(w, "limits", "%s", limitsText(o))
	fact(w, "solved", "%s", solvedText(o))
}

func policyText(o *api.Optimiser) string {
	text := o.Policy
	if o.TargetS > 0 {
		text += " with a target of " + timespan.Seconds(o.TargetS)
	}
	return text + ", ladder " + o.Ladder
}

func budgetText(o *api.Optimiser) string {
	text := fmt.Sprintf("%s %s per interval", number(math.Round(o.Budget)), o.Cost)
	if o.BudgetAuto {
		text += ", what the subscribers would cause alone"
	}
	if o.Budget > 0 {
		text += fmt.Sprintf("; planned %s (%s %%)", number(math.Round(o.Planned)), number(math.Round(1000*o.Planned/o.Budget)/10))
	}
	return text
}

// limitsText says which limits could not be kept, and which hold polls back.
func limitsText(o *api.Optimiser) string {
	var unmet []string
	if o.Unmet.Budget {
		unmet = append(unmet, "the lowest rates cost more than the budget")
	}
	if o.Unmet.Target {
		unmet = append(unmet, "the target cannot be reached")
	}
	if n := o.Unmet.Channels; n > 0 {
		unmet = append(unmet, fmt.Sprintf("channels outside bounds of their own: %d", n))
	}
	if n := o.Unmet.Hosts; n > 0 {
		unmet = append(unmet, fmt.Sprintf("hosts beyond their cap at the lowest rates: %d", n))
	}
	text := "all kept"
	if !o.Feasible && o.Solved != nil {
		text = "not all can be kept: " + strings.Join(unmet, ", ")
	}
	if o.HostsBound > 0 {
		text += fmt.Sprintf("; hosts at their cap: %d", o.HostsBound)
	}
	return text
}

func solvedText(o *api.Optimiser) string {
	if o.Solved == nil {
		return "not yet"
	}
	text := fmt.Sprintf("%s, in %s; again each %s", timeText(o.Solved), tookText(o.SolveMs), timespan.Seconds(o.MaintenanceS))
	if o.Updates > 0 {
		text += fmt.Sprintf(", and %d times since for what had changed", o.Updates)
	}
	return text
}
